"""German patterns for people's messages. They match lower-case text and also accept "ae" for "ä"."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "de",
    (
        "reject",
        "ist_falsch",
        (
            r"\b(?:das|dies|es|die antwort) (?:ist|war|sind) (?:leider |doch |immer noch |völlig |komplett "
            r"|einfach )?(?:falsch|nicht richtig|nicht korrekt|unsinn|quatsch|nutzlos|nicht hilfreich|verkehrt)\b"
            r"|^(?:nein[, ]+)?(?:leider )?(?:falsch|stimmt nicht|quatsch)\b"
        ),
    ),
    (
        "reject",
        "stimmt_nicht",
        (
            r"\b(?:das|es|da) (?:stimmt|passt|klappt|funktioniert|geht|hilft|reicht)(?: so| mir| aber| immer noch"
            r"| leider| doch| gar| überhaupt)* nicht\b|\bergibt keinen sinn\b"
        ),
    ),
    (
        "reject",
        "nicht_gefragt",
        (
            r"\b(?:danach|das|so) (?:habe|hatte|hab|wollte) ich (?:doch |aber |gar )?nicht (?:gefragt|gemeint|gesagt"
            r"|gewollt|verlangt)?\b|\bnicht das,? was ich (?:wollte|meinte|gesucht|gefragt|brauche)|\bich (?:wollte"
            r"|meinte|habe) (?:doch |eigentlich |aber )?(?:nicht|etwas anderes|was anderes)\b"
        ),
    ),
    (
        "reject",
        "ich_meinte",
        r"^(?:nein|nee|ne|sorry|entschuldigung)?[,. ]*ich (?:meinte|meine|wollte|hatte gefragt|habe gefragt)\b",
    ),
    (
        "reject",
        "missverstanden",
        (
            r"\b(?:du hast|sie haben|hast du|haben sie) (?:mich |das |meine frage )?(?:nicht |falsch "
            r"|miss)(?:verstanden|gelesen|beantwortet)\b|\bfalsch verstanden\b|\bmeine frage nicht beantwortet\b"
        ),
    ),
    (
        "reject",
        "gefaellt_nicht",
        (r"\b(?:gefällt|gefaellt) mir (?:gar |überhaupt |leider |so )?nicht\b|\bmag ich nicht\b(?! \w{2,20}en\b)"),
    ),
    (
        "reject",
        "immer_noch",
        (
            r"\b(?:geht|funktioniert|klappt|läuft|stimmt|fehlt|hängt)(?: \w{1,12}){0,2} (?:immer noch|weiterhin"
            r"|nach wie vor"
            r"|noch immer)\b(?: (?:nicht|falsch))?|\b(?:immer noch|nach wie vor|noch immer) (?:nicht|falsch"
            r"|kaputt|derselbe"
            r"|der gleiche|das gleiche)\b|\b(?:derselbe|gleiche[rn]?) fehler\b|\b(?:du hast|sie haben)"
            r" (?:\w{1,12} ){0,3}"
            r"(?:vergessen|ignoriert|übersehen|gelöscht|verwechselt)\b|\bfunktioniert (?:so |hier )?nicht\b"
        ),
    ),
    (
        "reject_stated",
        "kaputt",
        (
            r"\b(?:erscheint|zeigt|lädt|startet|öffnet|kompiliert|ändert|passiert|antwortet|speichert)(?: sich|"
            r" \w{1,12}){0,2}"
            r" (?:nicht|nichts|nicht mehr)\b|\b(?:es|da) (?:fehlt|fehlen)\b|\b(?:wieder|weiterhin|jetzt) (?:einen"
            r"|den|der|ein)"
            r" (?:fehler|absturz)\b|\bstürzt (?:\w{1,12} )?ab\b|\bhab(?:e)? ich (?:doch |dir |schon )+(?:gesagt"
            r"|geschrieben)\b"
        ),
    ),
    (
        "reject",
        "in_deinem",
        (
            r"\b(?:fehler|bugs?|probleme?)(?: \w{1,14}){0,3} in (?:deine[rmn]?|dem,? was du)\b"
            r"|\bmach(?:e|en sie)?(?: \S{1,40}){0,6} rückgängig\b|\bwieder so,? wie (?:es )?vorher\b"
        ),
    ),
    (
        "reject_stated",
        "stuerzt_ab",
        (
            r"\bstürz(?:t|en)(?: \S{1,20}){0,4} ab\b|\b(?:fehler|problem) (?:kommt daher|kommt davon|liegt daran)\b"
            r"|\bfehl(?:t|en) (?:immer noch|noch immer|weiterhin|jetzt)\b|\bgibt es nicht mehr\b"
        ),
    ),
    (
        "reject",
        "bleibt",
        (
            r"\b(?:fehler|problem|bug)(?: \w{1,12})? (?:besteht|bleibt|tritt)(?: \w{1,12}){0,2} (?:noch|weiterhin"
            r"|immer noch|bestehen|wieder auf|weiter)\b"
            r"|\b(?:es )?hat sich nichts (?:geändert|getan)\b|\b(?:keine|null) (?:änderung|veränderung"
            r"|wirkung) (?:zu sehen|sichtbar)\b|\bwarum (?:hast du|haben sie)(?: \S{1,14}){0,5} (?:gelöscht|entfernt"
            r"|geändert|überschrieben)\b"
            r"|\b(?:du hast|hast du)(?: \S{1,14}){0,4} (?:nicht|nichts) (?:geändert|gemacht|behoben|umgesetzt"
            r"|eingebaut|angepasst|gefixt)\b"
        ),
    ),
    (
        "reject_stated",
        "bekomme_fehler",
        (
            r"(?<!wenn )\b(?:ich (?:bekomme|kriege|erhalte|sehe|habe)|es (?:kommt|gibt|erscheint)|da kommt"
            r"|jetzt kommt) (?:jetzt |noch |immer |nun |aber )*(?:einen|diesen|den|folgenden|die|diese|eine"
            r"|ein) ?(?:\w{1,14} )?"
            r"(?:fehler|fehlermeldung|bug)\b|^(?:fehler|fehlermeldung) ?:|\b(?:aktualisiert|bewegt|verbindet"
            r"|funktionieren|erscheinen|laden|reagiert|findet|erkennt|übernimmt) (?:sich )?(?:\w{1,10} ){0,2}(?:nicht"
            r"|nichts)\b(?! mehr als)"
            r"|\b(?:ist|sind) (?:jetzt |alle |plötzlich )?(?:verschwunden|weg|kaputt)\b|\b(?:weißer"
            r"|schwarzer) bildschirm\b|\bleere seite\b"
        ),
    ),
    (
        "reject_stated",
        "zu_viel",
        (
            r"\bzu (?:teuer|lang|kurz|kompliziert|spät|früh|allgemein|ungenau|weit|knapp|viel|eng)\b|\bpasst"
            r" (?:es )?(?:mir|bei"
            r" mir|uns)? ?(?:das |da |es )?(?:leider |gar |überhaupt |so |auch )*(?:nicht|schlecht|gar nicht)\b"
            r"|\b(?:geht|klappt|passt) (?:es |das |da )?(?:bei mir |mir )?(?:leider |auch |gar )*(?:nicht|schlecht)\b"
            r"|\bda (?:habe|hab|bin) ich (?:leider |schon |auch |gar )*(?:keine zeit|einen termin|nicht|verreist"
            r"|im urlaub"
            r"|weg|unterwegs|besetzt|belegt)\b|\b(?:ist|wäre) (?:es |das |da )?(?:bei mir )?(?:leider |ganz"
            r" )?(?:schlecht"
            r"|ungünstig|unmöglich|nicht möglich)\b|^nein[,.]? (?:das|da|ich|es|der|die|lieber|bitte|nicht|am|um)\b"
            r"|\b(?:geht|kann ich|können wir) (?:\w{1,12} ){0,3}(?:leider )(?:\w{1,12} ){0,2}nicht\b"
            r"|\bkann ich (?:leider |da |dann |auch )*nicht(?=[.!,]|$)|\bbin ich dagegen\b"
            r"|\b(?:bin|habe|hab) ich (?:\w{1,14} ){0,3}(?:im urlaub|urlaub|verreist|auf (?:einer )?(?:\w{1,12} )?"
            r"(?:dienstreise|konferenz)|einen termin|keine zeit)\b"
            r"|\bbei (?:mir|uns) (?:\w{1,12} ){0,3}(?:schlecht|ungünstig|belegt|zugeplant|nicht möglich)\b"
        ),
    ),
    (
        "abandon",
        "vergiss_es",
        (
            r"\bvergiss (?:es|das)\b|\bvergessen sie(?: es| das)?\b|\blass (?:es|gut sein)\b|^(?:ist |ach )?egal[.! ]*$"
            r"|\bich gebe? auf\b|\bhat keinen (?:sinn|zweck)\b|\b(?:mache?|suche?|schaue?) (?:ich )?(?:es "
            r"|das )?(?:dann )?(?:selbst|selber|woanders|anderswo)\b"
        ),
    ),
    ("thanks", "danke", r"\b(?:danke|dankeschön|vielen dank|herzlichen dank|besten dank|merci)\b"),
    (
        "thanks",
        "perfekt",
        (
            r"^(?:ja[, ]+|ok[, ]+|oh[, ]+)?(?:perfekt|super|prima|toll|klasse|wunderbar|genau|sehr gut|großartig"
            r"|spitze|passt)\b(?! nicht)|\b(?:das|es) (?:passt|hilft|klappt|funktioniert|geht|war's|wars"
            r"|reicht)(?: mir| jetzt"
            r"| sehr| so| gut| schon)*[.! ]*$|\bgenau (?:das|richtig|was ich)\b"
        ),
    ),
    (
        "action",
        "nehme_ich",
        (
            r"\b(?:das|den|die|dann|ich) (?:nehme|nehm|buche|kaufe|bestelle|probiere|mache|versuche) (?:ich |das "
            r"|den |die |es )"
        ),
    ),
    (
        "follow",
        "und",
        (
            r"^(?:ok[, ]+|gut[, ]+|super[, ]+)?(?:und (?:was|wie|wo|wann|wer|wenn|ist|gibt|kann)|was ist mit"
            r"|wie (?:viel|lange|weit|teuer)|gibt es (?:dort|da)|kannst du (?:auch|mir mehr)|erzähl mir mehr)\b"
        ),
    ),
    ("cue_no", "nein", r"^(?:nein|nee|nö|ne)\b"),
    ("cue_yes", "ja", r"^(?:ja|jawohl|klar|ok|okay|gerne|richtig|stimmt|natürlich)\b(?! nicht)"),
    ("cue_reject", "nicht", r"\b(?:nicht|kein|keine|keinen|nie|nichts|leider|eigentlich|sondern|stattdessen|lieber)\b"),
    (
        "acknowledge",
        "aha",
        r"^(?:(?:ok(?:ay)?|aha|ah|hm+|mhm|ach so|so|verstehe)[.!, ]*){1,2}$",
    ),
    (
        "postpone",
        "spaeter",
        r"^(?:nein[,. ]+)?(?:(?:jetzt |heute |noch )nicht|später|vielleicht (?:später|morgen)|nein,? danke)\b",
    ),
    ("cue_praise", "gut", r"\b(?:gut|super|toll|prima|schön|wunderbar|hervorragend|ausgezeichnet|einverstanden)\b"),
    ("cue_bye", "tschuess", r"\b(?:tschüss?|wiedersehen|wiederhören|bis (?:dann|bald|später|morgen))\b"),
    ("cue_but", "aber", r"\b(?:aber|jedoch|trotzdem|allerdings)\b"),
    ("cue_clarify", "hae", r"^(?:hä|häh|was|wie bitte|bitte)\?|\bwas meinst du\b|\bverstehe (?:ich )?nicht\b"),
    ("cue_repeat", "ich_sagte", r"\b(?:ich sagte|wie gesagt|nochmal|noch einmal|ich habe gefragt)\b"),
    (
        "cue_other",
        "etwas_anderes",
        r"\b(?:etwas|was) anderes\b|\bandere (?:optionen|vorschläge|ideen)\b|\bnoch (?:andere|weitere)\b",
    ),
    ("cue_ask", "frage", r"\?|^(?:wer|was|wann|wo|warum|wie|welche[rs]?|kannst|können|ist|gibt)\b"),
    (
        "veto",
        "kein_problem",
        (
            r"\bkein(?:e)? (?:problem|sorge|ursache|frage)\b|\bnicht schlecht\b|\bnichts (?:weiter|mehr)\b"
            r"|\bnein,? (?:danke|das war's|das ist alles)"
        ),
    ),
)
