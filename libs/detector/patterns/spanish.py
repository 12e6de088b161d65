"""Spanish patterns for people's messages."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "es",
    (
        "reject",
        "es_incorrecto",
        (
            r"\b(?:eso|esto|la respuesta|tu respuesta|está|es)(?: es| está)? (?:todo |completamente |totalmente "
            r"|muy )?(?:mal|incorrecto|incorrecta|falso|equivocado|equivocada|un error|inútil)\b|\b(?:eso "
            r"|esto )?no (?:es|está) (?:cierto|verdad|correcto|correcta|así|bien|útil|lo correcto)\b"
            r"|^(?:no[, ]+)?(?:incorrecto|falso|mal)\b"
        ),
    ),
    (
        "reject",
        "no_es_lo_que",
        (
            r"\bno es (?:lo|eso lo|esto lo) que (?:te |le )?(?:pedí|pregunté|quería|quiero|busco|buscaba|necesito"
            r"|dije)\b|\byo no (?:pedí|pregunté|dije|quería) eso\b|\bno (?:te )?(?:pedí|pregunté) (?:eso|por eso)\b"
        ),
    ),
    (
        "reject",
        "queria_decir",
        (
            r"^(?:no|perdón|perdona|disculpa)?[,. ]*(?:yo )?(?:quería decir|me refería a|quise decir|preguntaba"
            r"|hablaba de)\b"
        ),
    ),
    (
        "reject",
        "no_entendiste",
        (
            r"\bno (?:me )?(?:entendiste|has entendido|entiendes|leíste|respondiste|has respondido|contestaste)\b"
            r"|\bme (?:has )?(?:entendiste|entendido) mal\b|\bte (?:equivocas|equivocaste|has equivocado)\b"
        ),
    ),
    (
        "reject",
        "no_funciona",
        (
            r"\bno (?:me )?(?:funciona|sirve|ayuda|vale|tiene sentido|compila|arranca)\b"
            r"|\b(?:sigue|siguen|todavía|aún) (?:sin|no|fallando|dando|igual|mal|el mismo)\b|\bel mismo error\b"
            r"|\b(?:te|se te|has|se le) (?:olvidaste|olvidó|olvidado|saltaste|saltó|ignorado)\b|\bno,? te he"
            r" (?:dicho|pedido)\b"
        ),
    ),
    (
        "reject_stated",
        "averiado",
        (
            r"\bno (?:se |me )?(?:muestra|aparece|carga|abre|guarda|cambia|responde|inicia|ve|veo)\b|\b(?:sigo"
            r"|sigue) (?:teniendo"
            r"|con) (?:\w{1,12} ){0,2}(?:error|problema)\b|\b(?:me )?(?:da|sale|tira) (?:\w{1,6} )?(?:un |el "
            r"|este )?(?:error|fallo)\b"
            r"|\b(?:falta|faltan) (?:el|la|los|las|un|una)\b|\bya te (?:dije|había dicho)\b|\b(?:borraste"
            r"|rompiste|eliminaste)\b"
        ),
    ),
    (
        "reject",
        "en_tu",
        (
            r"\b(?:error(?:es)?|fallos?|bugs?|problemas?)(?: \w{1,14}){0,3} en (?:tus?|lo que (?:has|hiciste))\b"
            r"|\b(?:deshaz|revierte|anula) (?:eso|esto|todo|tus?|el último|la última|los últimos|los cambios)\b"
            r"|\bdéja(?:lo|la)? (?:todo )?como (?:estaba|antes)\b"
        ),
    ),
    (
        "reject_stated",
        "se_cuelga",
        (
            r"\b(?:error|fallo|problema) viene del?\b|\bse (?:cuelga|cae la (?:app|página|web))\b|\bya no existen?\b"
            r"|\bsiguen? (?:faltando|fallando)\b"
        ),
    ),
    (
        "reject",
        "persiste",
        (
            r"\b(?:problema|error|fallo)s? (?:persisten?|contin[uú]an?|sigue[n]?)\b|\bsigue (?:pasando|apareciendo"
            r"|saliendo|ocurriendo|dando|sin)\b"
            r"|\b(?:no (?:ha |se ha )?(?:cambi[oó]|cambiado|solucion[oó]|solucionado|arregl[oó]|arreglado)"
            r"|nada (?:ha )?cambi(?:[oó]|ado)|ning[uú]n cambio)\b"
            r"|\bno (?:has|hiciste|hizo|corregiste|arreglaste|agregaste|pusiste|cambiaste|modificaste"
            r"|actualizaste)\b(?! falta)|\bpor ?qu[eé] (?:has |me )?(?:borr|quit|cambi|elimin|modific|romp)(?:aste"
            r"|iste|ado|ido)\b"
            r"|\b(?:quedó|salió|está todo|están) mal\b"
        ),
    ),
    (
        "reject_stated",
        "tengo_un_error",
        (
            r"(?<!si )\b(?:tengo|hay|obtengo|recibo|me (?:sale|salen|aparece|da|marca|arroja|tira)|aparece|sale|marca"
            r"|arroja) (?:ahora |todavía |aún )?(?:un|este|estos|el|los|el mismo|el siguiente|varios|unos)"
            r" ?(?:\w{1,12} )?(?:errore?s?|fallos?|mensaje de error|bugs?)\b|^(?:este es el |el )?error ?:"
            r"|(?<!si )\bno (?:se |me |lo |la |los |las )?(?:actualiza|mueve|conecta|ejecuta|detecta|reconoce|crea"
            r"|genera|deja|permite|hace nada|pasa nada|refleja|guarda|carga|muestran|aparecen|ven|encuentra|respeta"
            r"|lee)\b"
            r"|(?<!si )\bno puedo (?:ver|abrir|acceder|entrar|iniciar|ingresar|editar|guardar|seleccionar)\b|\b(?:ha "
            r"|han )?desapareci(?:ó|do|eron)\b|\bse (?:rompió|rompieron|dañó)\b"
            r"|\bpantalla (?:en )?(?:blanc[oa]|negr[oa])\b"
        ),
    ),
    (
        "reject_stated",
        "demasiado",
        (
            r"\bdemasiado (?:caro|cara|largo|corto|lejos|tarde|temprano|complicado)\b|\bmuy (?:car[oa]|tarde"
            r"|temprano)\b"
            r"|\bno me (?:convence|interesa|conviene)\b|\bno me gustan?(?=[.!,;]|$| (?:nada|mucho|es[oae]s?|est[oae]s?"
            r"|la idea|la opción|la propuesta)\b)|^no[,.!]+ ?(?:el|la|los|las|es|era|quiero|quería|yo"
            r"|a|de|en|para"
            r"|con|por|me|pero|tiene|mejor|ese|esa|eso|digo|he)\b"
        ),
    ),
    (
        "abandon",
        "olvidalo",
        (
            r"\bolvíd[ae]lo\b|\bolvidalo\b|\bdéjalo\b|\bdejalo\b|\bno importa\b[.! ]*$|\bme rindo\b"
            r"|\bya no (?:importa|hace falta)\b|\b(?:lo )?(?:haré|busco|buscaré|hago) (?:yo mismo|yo misma"
            r"|en otro (?:sitio|lado|lugar))\b"
        ),
    ),
    ("thanks", "gracias", r"(?<!no )(?<!no, )\b(?:gracias|te lo agradezco|se lo agradezco)\b"),
    (
        "thanks",
        "perfecto",
        (
            r"^(?:sí[, ]+|vale[, ]+|ok[, ]+|ah[, ]+)?(?:perfecto|genial|excelente|estupendo|exacto|exactamente"
            r"|muy bien|fantástico|buenísimo|qué bien)\b|\beso (?:es|era) (?:todo|justo|exactamente|lo que)\b|^(?:ya "
            r"|ahora )?(?:funciona|me sirve)\b"
        ),
    ),
    (
        "action",
        "me_lo_quedo",
        (
            r"\bme (?:lo|la|los|las) (?:quedo|llevo)\b|\b(?:lo|la) (?:reservo|compro|tomo|pruebo|voy a probar)\b"
            r"|\bvoy a (?:probar|reservar|comprar|tomar)\b|\breserva(?:lo|la)\b"
        ),
    ),
    (
        "follow",
        "y",
        (
            r"^(?:vale[, ]+|ok[, ]+|bien[, ]+|genial[, ]+)?(?:¿ ?)?(?:y (?:el|la|los|las|si|qué|cuánto|cómo|cuándo"
            r"|dónde|para|en)|cuánto (?:cuesta|dura|tarda)|qué tal|hay|puedes (?:también|darme más)|dime más)\b"
        ),
    ),
    ("cue_no", "no", r"^no\b"),
    ("cue_yes", "si", r"^(?:sí|si|vale|ok|claro|de acuerdo|correcto)\b"),
    ("cue_reject", "negacion", r"\b(?:no|nunca|nada|ningún|ninguna|tampoco|en vez|en lugar|sino)\b"),
    (
        "acknowledge",
        "ya_veo",
        r"^(?:(?:ok|ah|oh|hm+|mhm|ya|ya veo|entiendo)[.!, ]*){1,2}$",
    ),
    (
        "postpone",
        "luego",
        r"^(?:no[,. ]+)?(?:ahora no|todavía no|más tarde|luego|quizás? (?:luego|más tarde)|hoy no|no,? gracias)\b",
    ),
    ("cue_praise", "bien", r"\b(?:bien|genial|perfecto|estupendo|excelente|bueno|buena|fantástico)\b"),
    ("cue_bye", "adios", r"\b(?:adiós|hasta (?:luego|pronto|mañana)|buen día)\b"),
    ("cue_but", "pero", r"\b(?:pero|aunque|sin embargo)\b"),
    (
        "cue_clarify",
        "como",
        r"^(?:¿ ?)?(?:qué|cómo|perdón|eh) ?\?|\bno entiendo\b|\bqué quieres decir\b|\bde qué hablas\b",
    ),
    ("cue_repeat", "ya_dije", r"\b(?:ya (?:te )?(?:dije|pregunté|lo dije)|otra vez|repito|como dije)\b"),
    (
        "cue_other",
        "otra_cosa",
        r"\botra cosa\b|\botr[oa]s (?:opciones|ideas|sugerencias)\b|\balgo (?:más|distinto|diferente)\b",
    ),
    ("cue_ask", "pregunta", r"\?|^(?:quién|qué|cuándo|dónde|por qué|cómo|cuál|cuánto|puedes|hay)\b"),
    (
        "veto",
        "no_hay_problema",
        r"\bno (?:hay problema|pasa nada|está mal|te preocupes)\b|\bnada más\b|\bno,? (?:gracias|eso es todo)\b",
    ),
)
