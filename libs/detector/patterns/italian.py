"""Italian patterns for people's messages. Accents may be missing or typed as apostrophes."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "it",
    (
        "reject",
        "sbagliato",
        (
            r"\b(?:questo|quello|ciò|la (?:tua |sua )?risposta|il risultato) (?:<is>|era) (?:tutto |completamente "
            r"|proprio |del tutto |ancora |semplicemente )?(?:sbagliat[oa]|errat[oa]|scorrett[oa]|fals[oa]|inutile|un "
            r"errore)\b|^(?:no[,. ]+)?(?:<is> )?(?:tutto |completamente )?(?:sbagliato|errato|falso"
            r"|scorretto)(?=[.!,]|$)|^(?:no[,. ]+)?(?:questo |quello |ciò )?non (?:<is>|era) (?:vero|giusto|corretto"
            r"|esatto|così)(?=[.!,]|$)"
        ),
    ),
    (
        "reject",
        "non_quello_che",
        (
            r"\bnon (?:<is>|era) (?:quello|ciò|quel) che (?:(?:ti |le |vi )?(?:ho|avevo) (?:chiesto|detto)|volevo"
            r"|cercavo|intendevo|chiedevo|cerco|voglio|mi serve)\b|\bnon (?:ti |le |vi )?(?:ho|avevo) (?:mica "
            r")?chiesto (?:questo|quello)\b|\bnon intendevo (?:questo|quello)\b|^(?:no[,. ]+|ma )?(?:io )?(?:ti|le"
            r"|vi) (?:ho|avevo) chiesto\b|\bmi aspettavo (?:da te )?(?:un[ao']?|delle) (?:altra )?rispost[ae]\b"
            r"|\brispost[ae] più (?:chiar|complet|precis)[ae]\b"
        ),
    ),
    (
        "reject",
        "intendevo",
        (
            r"^(?:no|scusa|scusi|scusami)?[,. ]*(?:io )?(?:intendevo|volevo dire(?! (?:che|grazie))|mi riferivo"
            r"|chiedevo|parlavo di)\b"
        ),
    ),
    (
        "reject",
        "frainteso",
        (
            r"\bnon (?:hai|mi (?:hai|ha|avete)) (?:capito|risposto|letto|ascoltato)\b|\b(?:hai|mi ha|avete) (?:capito "
            r"male|frainteso)\b|\bnon hai risposto\b|^(?:no[,. ]+)?(?:hai sbagliato|ti sbagli|si sbaglia|ti stai "
            r"sbagliando)\b"
        ),
    ),
    (
        "reject",
        "non_funziona",
        (
            r"<about>non (?:mi )?(?:funziona|funzionano|serve a (?:niente|nulla)|aiuta|ha senso|compila|si avvia)\b"
            r"(?! (?:il mio|la mia|i miei|le mie)\b)"
            r"|\b(?:ancora|sempre) (?:lo stesso errore|sbagliat[oa]|rott[oa])\b|\blo stesso errore\b|\b(?:hai|avete) "
            r"(?:dimenticato|ignorato|saltato|cancellato|rotto)\b|\bcontinua a (?:non|dare|fallire)\b"
        ),
    ),
    (
        "reject_stated",
        "guasto",
        (
            r"\bnon (?:si |mi )?(?:apre|carica|salva|vede|aggiorna|compare|appare|mostra)\b|\b(?:mi )?(?:dà|da'|esce"
            r"|compare) (?:\w{1,9} )?(?:un |l'|questo )errore\b|\bmanca(?:no)? (?:il|la|lo|i|gli|le|un|una) |\b(?:te "
            r"l'|l')ho già (?:detto|scritto)\b|\bsi (?:blocca|pianta)\b"
        ),
    ),
    (
        "reject",
        "nel_tuo",
        (
            r"\b(?:error[ei]|bug|problem[ai])(?: \w{1,14}){0,3} (?:nel tuo|nella tua|nei tuoi|nelle tue|in quello che "
            r"hai)\b|\b(?:annulla|ripristina) (?:tutto|questo|l'ultim[oa]|gli ultimi|le ultime|le (?:tue "
            r")?modifiche)\b|\b(?:rimetti|lascia)(?:lo|la|li|le)? (?:tutto )?(?:com'era|come prima)\b"
        ),
    ),
    (
        "reject",
        "persiste",
        (
            r"\b(?:problema|errore|bug) (?:persiste|c'è ancora|rimane|resta|continua)\b|\b(?:non è cambiato (?:niente"
            r"|nulla)|nessun cambiamento|ancora niente)\b"
            r"|\bnon hai (?!bisogno)(?:\w{1,8} )?(?:fatto|cambiato|modificato|corretto|aggiunto|messo|aggiornato"
            r"|risolto)\b|\bperché hai (?:tolto|cancellato|cambiato|modificato|rimosso)\b"
        ),
    ),
    (
        "reject_stated",
        "ho_un_errore",
        (
            r"(?<!se )\b(?:ho|c'è|ricevo|ottengo|vedo) (?:ancora |sempre |ora )?(?:un|questo|lo stesso|il seguente"
            r"|degli|questi) ?(?:\w{1,12} )?(?:errore|errori|messaggio di errore|bug)\b|^errore ?:"
            r"|(?<!se )\bnon (?:si |mi )?(?:aggiorna|muove|connette|esegue|rileva|riconosce|crea|genera|permette"
            r"|trova|funzionano|vedono|appaiono|succede niente)\b"
            r"|\b(?:è|sono) spariti?[ao]?\b|\b(?:schermata|pagina) (?:bianca|nera)\b"
        ),
    ),
    (
        "reject_stated",
        "troppo",
        (
            r"^(?:(?:ma |no[, ]+)?(?:<is> )?troppo|esagerat[oa])[.! ]*$|\btroppo (?:car|lung|cort|lontan|complicat"
            r"|generic|vag)[oaie]\b|\btroppo (?:lunghi|lunghe|tardi|presto|difficile)\b|\bnon mi (?:convince"
            r"|convincono|conviene)\b|\bnon mi (?:piace|piacciono|interessa|va)(?: (?:per niente|affatto|proprio|così"
            r"|l'idea|la proposta))?(?=[.!,]|$)|^no[,.! ]+(?:volevo|intendevo|preferisco|preferirei|meglio|quell[oa]"
            r"|quest[oa]|dico|dicevo)\b"
        ),
    ),
    (
        "abandon",
        "lascia_perdere",
        (
            r"\b(?:lascia(?:mo)?|lasci) (?:perdere|stare)\b|^(?:ok[, ]+|va bene[, ]+)?(?:non importa|fa niente)[.! "
            r"]*$|\b(?:ci rinuncio|mi arrendo)\b|\b(?:lo|la) (?:faccio|farò|cerco|cercherò) (?:io|da sol[oa]"
            r"|altrove)\b"
        ),
    ),
    (
        "thanks",
        "grazie",
        r"(?<!no )(?<!no, )\b(?:grazie\b(?! (?:al|alla|alle|ai|agli|allo)\b)|ti ringrazio\b|la ringrazio\b)",
    ),
    (
        "thanks",
        "perfetto",
        (
            r"^(?:<yes>[, ]+|ok[, ]+|ah[, ]+|bene[, ]+)?(?:perfetto|ottimo|ottima idea|esatto|esattamente|fantastico"
            r"|benissimo|molto bene|eccellente|bravissim[oa]|geniale|che bello|buona idea)\b|\b(?:ora|adesso) "
            r"(?:funziona|va bene)\b|^funziona[.! ]*$|^(?:concordo|sono d'accordo)[.! ]*$|\b<is> (?:proprio"
            r"|esattamente) (?:quello|ciò|quel) che\b"
        ),
    ),
    (
        "action",
        "lo_prendo",
        (
            r"\b(?:lo|la|li|le) (?:prendo|prenoto|compro|proverò)\b|\b(?:vado per|scelgo) (?:quest[oa]|quell[oa]|il"
            r"|la)\b|\bprenotal[oa]\b|\bci (?:provo|proverò)\b|\bseguirò (?:il|i) (?:tuo|suo|tuoi|suoi)\b"
        ),
    ),
    (
        "follow",
        "e_il",
        (
            r"^(?:ok[, ]+|va bene[, ]+|bene[, ]+|ottimo[, ]+)?(?:e (?:il|la|lo|i|gli|le|se|per|cosa|come|quanto"
            r"|quando|dove|quello)\b[^?]{0,80}\?|quanto (?:costa|dura|ci vuole)\b|puoi (?:anche|dirmi)\b|dimmi di "
            r"più\b)"
        ),
    ),
    ("cue_no", "no", r"^no\b"),
    ("cue_yes", "si", r"^(?:<yes>|certo|ok|va bene|d'accordo|giusto|esatto|corretto|volentieri)(?=[\s,.!]|$)"),
    ("cue_reject", "non", r"\b(?:non|no|mai|niente|nulla|nessun[oa]?|neanche|nemmeno|invece|purtroppo|piuttosto)\b"),
    ("acknowledge", "capisco", r"^(?:(?:ok|ah|oh|hm+|mhm|capisco|ho capito|va bene|vabb(?:è|e'?))[.!, ]*){1,2}$"),
    (
        "postpone",
        "dopo",
        (
            r"^(?:no[,. ]+)?(?:non (?:ora|adesso|ancora|oggi)|più tardi|dopo|magari (?:dopo|più tardi|domani)|no,? "
            r"grazie)\b"
        ),
    ),
    ("cue_praise", "bene", r"\b(?:bene|ottim[oa]|perfett[oa]|brav[oa]|bell[oa]|fantastic[oa]|interessante|utile)\b"),
    ("cue_bye", "ciao", r"\b(?:ciao|arrivederci|arrivederla|a (?:presto|domani|dopo)|buona (?:giornata|serata))\b"),
    ("cue_but", "ma", r"\b(?:ma|però|tuttavia|anche se)\b|\bpero'"),
    (
        "cue_clarify",
        "cosa",
        (
            r"^(?:(?:che )?cosa|come|scus[ai]|eh|prego) ?\?|\bnon (?:ho capito|capisco)\b|\bcosa (?:vuoi|vuole) "
            r"dire\b|\bin che senso\b"
        ),
    ),
    (
        "cue_repeat",
        "ho_detto",
        r"\b(?:ho già (?:detto|chiesto)|te l'ho (?:già )?detto|di nuovo|ripeto|come ho detto)\b",
    ),
    (
        "cue_other",
        "altro",
        (
            r"\bqualcos'altro\b|\baltr[oaie] (?:opzion[ei]|ide[ae]|suggeriment[oi]|propost[ae]|alternativ[ae])\b"
            r"|\bqualcosa di (?:diverso|più|meno)\b"
        ),
    ),
    ("cue_ask", "domanda", r"\?|^(?:chi|cosa|che cosa|quando|dove|perché|perche'|qual[ei]?|quanto|quanti|puoi)\b"),
    (
        "veto",
        "nessun_problema",
        (
            r"\b(?:nessun problema|non c'<is> problema|non <is> (?:male|un problema)|nient'altro|non ti "
            r"preoccupare)\b|\bno,? (?:grazie|<is> tutto|basta così)"
        ),
    ),
    pieces={
        # Excludes "my telephone doesn't work", which describes a problem to a help desk.
        "about": r"(?:^|[,.;!] ?|\b(?:ma|questo|quello|così|ancora|il codice|lo script|il comando|il link"
        r"|la soluzione) )",
        "is": "(?:è|e')",
        "yes": "(?:sì|si'?)",
    },
)
