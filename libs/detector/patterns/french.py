"""French patterns for people's messages."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "fr",
    (
        "reject",
        "est_faux",
        (
            r"\b(?:c'est|ce n'est|c'était|la réponse est|ta réponse est|votre réponse est) (?:complètement "
            r"|totalement |toujours |encore |pas )?(?:faux|fausse|incorrect|incorrecte|pas (?:vrai|juste|correct|bon"
            r"|ça|bien|utile)|vrai pas|inutile|n'importe quoi|une erreur)\b|\bce n'est pas (?:ça|vrai|juste|correct"
            r"|exact|bon|utile|la bonne)\b|^(?:non[, ]+)?(?:faux|incorrect|pas du tout)\b"
        ),
    ),
    (
        "reject",
        "pas_demande",
        (
            r"\b(?:ce n'est|c'est) pas ce que (?:je|j'ai|j'avais|je t'ai|je vous ai) ?(?:voulais|demandé|demande|veux"
            r"|cherche|cherchais|dit)?|\bje n'ai pas (?:demandé|dit|voulu)\b"
        ),
    ),
    (
        "reject",
        "je_voulais_dire",
        r"^(?:non|pardon|désolée?)?[,. ]*je (?:voulais dire|parlais de|voulais savoir|demandais|voulais)\b",
    ),
    (
        "reject",
        "mal_compris",
        (
            r"\b(?:tu (?:as|n'as)|vous (?:avez|n'avez)|t'as) (?:mal |pas |rien )(?:compris|lu|répondu)\b"
            r"|\bpas répondu à ma question\b"
        ),
    ),
    (
        "reject",
        "ne_marche_pas",
        (
            r"\b(?:ça|cela|il|le code) ne? ?(?:marche|fonctionne|convient|aide|suffit|va) (?:toujours "
            r"|vraiment )?pas\b|\bça (?:marche|va|aide) pas\b|\bn'a (?:pas de|aucun) sens\b"
            r"|\b(?:marche|fonctionne) toujours pas\b|\btoujours (?:pas|la même erreur|le même problème)\b"
            r"|\bj'ai toujours (?:ce|cette|cet|le|la|l'|les) ?(?:même )?(?:message|erreur|problème|souci|bug)\b"
            r"|\b(?:tu as|t'as|vous avez) (?:oublié|ignoré|supprimé|confondu|raté)\b|\b(?:même|encore une) erreur\b"
        ),
    ),
    (
        "reject_stated",
        "en_panne",
        (
            r"\b(?:j'ai|il y a|on a|ça (?:me )?(?:donne|fait)) (?:toujours |encore )(?:\w{1,12} ){0,2}(?:erreurs?"
            r"|problèmes?"
            r"|bugs?)\b|\bil manque\b|\b(?:ne|n') ?(?:s')?(?:affiche|marche|fonctionne|charge|compile|démarre"
            r"|change|apparaît"
            r"|apparait|répond|lance|ouvre)(?:nt)? (?:toujours |plus |même )?(?:pas|plus|rien)\b|\brien ne"
            r" (?:\w{1,12} )?(?:passe"
            r"|change|s'affiche|marche)\b|\bça (?:plante|bugue?|ne va pas|va pas)\b|\bje ne (?:vois|trouve)"
            r" (?:toujours )?(?:pas"
            r"|plus|rien)\b|\b(?:tu as|t'as) (?:tout |encore )?(?:cassé|supprimé|enlevé|perdu|changé)\b|\bje"
            r" (?:t'ai|t'avais|vous ai)"
            r" (?:déjà )?(?:dit|demandé)\b"
        ),
    ),
    (
        "reject",
        "dans_ton",
        (
            r"\b(?:erreurs?|fautes?|bugs?|problèmes?|soucis?)(?: \w{1,14}){0,4} dans (?:ton|ta|tes|votre|vos"
            r"|ce que tu)\b|\b(?:annule|défais|retire)[rsz]? (?:tout|ça|cela|tes|ta|ton|les? derni\w{2,4}|la dernière"
            r"|l'utilisation)\b"
            r"|\b(?:remets|reviens|restaure|rétablis)(?: \S{1,40}){0,12} (?:comme avant|comme c'était|en arrière"
            r"|(?:leur |son |l')état d'origine|version (?:précédente|d'avant|d'origine))\b"
        ),
    ),
    (
        "reject_stated",
        "plante",
        (
            r"\b(?:erreur|bug|problème) vient d(?:e|u|es|')\b|\bplante(?:nt)?\b|\bn'existe(?:nt)? plus\b"
            r"|\b(?:est|sont) (?:toujours |encore )?(?:absente?s?|manquante?s?|cassée?s?|introuvables?|en double)\b"
        ),
    ),
    (
        "reject",
        "persiste",
        (
            r"\b(?:problème|erreur|bug|souci)s? (?:persiste|persistent|(?:est|sont) toujours|demeure|revient|continue"
            r"|n'est (?:toujours )?pas (?:résolue?|corrigée?|réglée?))\b"
            r"|\b(?:rien (?:n'a |na )?(?:changé|bougé)|aucun changement|aucune différence|toujours rien"
            r"|toujours pareil|c'est pareil|c'est pire|c'est moche|c'est nul)\b"
            r"|\b(?:tu n'as|tu as|t'as|vous n'avez) (?:toujours |encore )?(?:pas|rien) (?!besoin)\w{2,}"
            r"|\bpourquoi (?:tu as|as-tu|t'as|vous avez|avez-vous) (?:\w{1,8} )?(?:supprim|enlev|chang|modifi|cass"
            r"|remplac|retir|effac)\w*"
        ),
    ),
    (
        "reject_stated",
        "j_ai_une_erreur",
        (
            r"(?<!si )\b(?:j'ai|j'obtiens|je reçois|il y a|on a|ça (?:me )?(?:donne|fait|affiche)) (?:maintenant "
            r"|encore |toujours |aussi )?(?:une|cette|ces|des|l'|les|le|ce|un|plein d[e'])"
            r" ?(?:\w{1,12} )?(?:erreurs?|message d'erreur|bugs?)\b|^(?:voici|voilà) (?:l'|les |une |cette "
            r"|mon )?(?:erreur|message d'erreur)|^erreurs? ?:"
            r"|(?<!qui )\b(?:ne|n') ?(?:se |s'|me |m'|le |la |les )?(?:trouve|prend|prennent|enregistre|sauvegarde"
            r"|bouge|détecte|reconnaît|reconnait|exécute|connecte|passe|suit|respecte"
            r"|apparaissent|met|mettent|actualise|génère|crée|installe|correspond|voit|voient"
            r"|fait)(?:nt)? (?:toujours |même |plus )?(?:pas|plus|rien)\b"
            r"|\bn(?:e sont|'est|e soient) (?:toujours |même )?(?:pas|plus) (?:affichée?s?|visibles?|pris|prise"
            r"|disponibles?|cliquables?|centrée?s?|alignée?s?|à jour|fonctionnel(?:le)?s?|bon(?:ne)?s?)"
            r"|\bje n'arrive (?:toujours )?(?:pas|plus) à\b|\b(?:a|ont|est|sont) (?:tous |toutes "
            r"|complètement )?disparus?\b|\b(?:page|écran) (?:blanche?|noire?)\b"
        ),
    ),
    (
        "reject_stated",
        "trop",
        (
            r"\btrop (?:cher|chère|long|court|compliqué|tard|tôt|vague|loin|petit|grand)\b"
            r"|\bje n'aime (?:vraiment |franchement )?pas(?=[.!,;]|$| (?:ça|cela|trop|du tout|ce|cet|cette|ces|celui"
            r"|celle|l'idée)\b)"
            r"|^non[,.! ]+(?:c'est|je|le|la|les|pas|il|elle|plutôt|à|en|au|celui|celle|ce)\b"
            r"|\b(?:ça|cela) ne (?:me|nous) (?:va|convient|plaît) pas\b"
        ),
    ),
    (
        "abandon",
        "laisse_tomber",
        (
            r"\blaisse[zr]? tomber\b|\boublie[zr]?(?:-le| ça| cela)?\b[.! ]*$|\btant pis\b|\bj'abandonne\b"
            r"|\bje (?:vais )?(?:chercher|voir|le faire|demander) (?:ailleurs|moi-même|tout seul)\b"
            r"|\bça ne sert à rien\b"
        ),
    ),
    ("thanks", "merci", r"^(?!non\b).{0,80}\bmerci\b"),
    (
        "thanks",
        "parfait",
        (
            r"^(?:oui[, ]+|ok[, ]+|ah[, ]+)?(?:parfait|super|génial|excellent|exactement|très bien|formidable|nickel"
            r"|impeccable|c'est (?:parfait|bon|super|exactement ça))\b|\bça (?:marche|fonctionne|me va"
            r"|aide)(?: très bien| bien| beaucoup| maintenant)*[.! ]*$"
        ),
    ),
    (
        "action",
        "je_prends",
        (
            r"\bje (?:le |la |les |vais )?(?:prends|prendre|réserve|réserver|choisis|achète|essayer|essaie) ?(?:ça"
            r"|celui|celle|le|la|un|cette)?\b|\bva pour\b"
        ),
    ),
    (
        "follow",
        "et",
        (
            r"^(?:ok[, ]+|d'accord[, ]+|super[, ]+)?(?:et (?:le|la|les|si|pour|comment|quand|où|combien|qui|est-ce)"
            r"|combien (?:ça|coûte)|est-ce que (?:c'est|il y a)|peux-tu (?:aussi|m'en dire plus)|dis-m'en plus)"
        ),
    ),
    ("cue_no", "non", r"^non\b"),
    ("cue_yes", "oui", r"^(?:oui|ouais|ok|d'accord|bien sûr|exact)\b"),
    ("cue_reject", "ne_pas", r"\b(?:pas|jamais|rien|aucun|aucune|plutôt|au lieu)\b"),
    (
        "acknowledge",
        "ah_bon",
        r"^(?:(?:ok|ah|oh|hm+|mhm|je vois|bon|compris)[.!, ]*){1,2}$",
    ),
    (
        "postpone",
        "plus_tard",
        r"^(?:non[,. ]+)?(?:pas (?:maintenant|encore|aujourd'hui)|plus tard|peut-être plus tard|non,? merci)\b",
    ),
    ("cue_praise", "bien", r"\b(?:bien|super|génial|parfait|excellent|magnifique|bravo|cool)\b"),
    ("cue_bye", "au_revoir", r"\b(?:au revoir|bonne (?:journée|soirée)|à bientôt|salut)\b"),
    ("cue_but", "mais", r"\b(?:mais|pourtant|cependant)\b"),
    (
        "cue_clarify",
        "quoi",
        r"^(?:quoi|hein|comment|pardon) ?\?|\bje ne comprends pas\b|\bqu'est-ce que tu (?:racontes|veux dire)\b",
    ),
    ("cue_repeat", "j_ai_dit", r"\b(?:j'ai (?:déjà )?(?:dit|demandé)|je répète|encore une fois|comme je l'ai dit)\b"),
    ("cue_other", "autre_chose", r"\bautre chose\b|\bd'autres (?:options|idées|suggestions)\b"),
    ("cue_ask", "question", r"\?|^(?:qui|que|quand|où|pourquoi|comment|quel|quelle|est-ce|peux)\b"),
    (
        "veto",
        "pas_de_probleme",
        r"\bnon,? merci\b|\bpas de (?:problème|souci)\b|\bpas mal\b|\bnon,? (?:merci|c'est tout)\b|\bpourquoi pas\b",
    ),
)
