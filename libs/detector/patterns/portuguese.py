"""European and Brazilian Portuguese patterns for people's messages. Accents may be missing."""

from __future__ import annotations

from typing import Final

from detector.patterns.table import Pattern, table

PATTERNS: Final[tuple[Pattern, ...]] = table(
    "pt",
    (
        "reject",
        "errado",
        (
            r"\b(?:isso|isto|a (?:sua |tua )?resposta|o resultado) (?:<is>|est[áa]|estava) (?:tudo |completamente "
            r"|totalmente |ainda )?(?:errad[oa]|incorret[oa]|fals[oa]|equivocad[oa]|inútil|um erro)\b|^(?:<no>[,. "
            r"]+)?(?:(?:<is>|est[áa]) )?(?:tudo )?(?:errado|incorreto|falso)(?=[.!,]|$)|^(?:<no>[,. ]+)?(?:isso |isto "
            r")?<no> (?:<is>|est[áa]) (?:verdade|certo|correto|bem assim|isso)(?=[.!,]|$)"
        ),
    ),
    (
        "reject",
        "nao_e_o_que",
        (
            r"\b<no> (?:<is>|era|foi) (?:o|isso o|aquilo) que (?:eu )?(?:(?:te |lhe )?(?:pedi|perguntei|disse)|queria"
            r"|quero|procuro|procurava|preciso)\b|\b<no> (?:te |lhe )?(?:pedi|perguntei) isso\b|\b<no> foi isso que\b"
        ),
    ),
    (
        "reject",
        "queria_dizer",
        (
            r"^(?:<no>|desculpa|desculpe|perdão)?[,. ]*(?:eu )?(?:queria dizer(?! (?:que|obrigad))|"
            r"quis dizer(?! que)|me referia|referia-me"
            r"|estava (?:a )?(?:falar|falando) d|perguntei (?:por|sobre))"
        ),
    ),
    (
        "reject",
        "nao_entendeu",
        (
            r"\b<no> me (?:entendeu|entendeste|compreendeu|respondeu|respondeste)\b|\b(?:você|tu|vocês) <no> "
            r"(?:entend|respond|leu|leste)|\b(?:entendeu|entendeste|percebeste) mal\b|\b<no> (?:entendeste"
            r"|respondeste|leste)\b|\b(?:você (?:está|se) engan|estás enganad|enganaste-te|você errou)"
        ),
    ),
    (
        "reject",
        "nao_funciona",
        (
            r"<about><no> (?:me )?(?:funciona|funcionou|funcionam|serve|ajuda|ajudou|faz sentido|compila|arranca)\b"
            r"(?! (?:o meu|a minha|os meus|as minhas|meu|minha)\b)"
            r"|\b(?:ainda|continua)(?: a)? (?:errad[oa]|igual|mal|com o mesmo|dar erro|dando erro|sem (?:funcionar"
            r"|dar))|\bo mesmo erro\b|\b(?:esqueceste(?:-te)?|(?:você |se )esqueceu|ignoraste|apagaste|você "
            r"(?:ignorou|apagou|quebrou))\b"
        ),
    ),
    (
        "reject_stated",
        "avariado",
        (
            r"\b<no> (?:se |me )?(?:mostra|aparece|carrega|abre|guarda|salva|muda|atualiza|inicia)\b|\b(?:dá|deu"
            r"|aparece) (?:\w{1,9} )?(?:um |o |este |esse )?erro\b|\bfaltam? (?:o|a|os|as|um|uma) |\bjá (?:te |lhe "
            r")?(?:disse|tinha dito)\b|\b(?:trava|travou|bloqueia|bloqueou)\b"
        ),
    ),
    (
        "reject",
        "no_teu",
        (
            r"\b(?:erros?|bugs?|problemas?)(?: \w{1,14}){0,3} (?:no teu|na tua|no seu código|na sua resposta|no que "
            r"(?:você|fizeste))\b|\b(?:desfaz|desfaça|reverte|reverta|anula|anule) (?:isso|tudo|o último|a última|as "
            r"(?:tuas |suas |últimas )?alterações|as mudanças)\b|\b(?:deixa|deixe|volta|volte)(?: tudo)? (?:como "
            r"estava|ao que era|como antes)\b"
        ),
    ),
    (
        "reject",
        "persiste",
        (
            r"\b(?:problema|erro|bug) (?:persiste|continua|permanece|ainda (?:está|existe|aparece|ocorre))\b"
            r"|\b(?:<no> mudou nada|nada mudou|nenhuma mudança)\b"
            r"|\b(?:você|tu) <no> (?:\w{1,8} )?(?:fez|mudou|alterou|corrigiu|adicionou|atualizou|resolveu|colocou)\b"
            r"|\bpor ?qu[eê] (?:você )?(?:apagou|removeu|tirou|mudou|alterou|deletou)\b"
        ),
    ),
    (
        "reject_stated",
        "deu_um_erro",
        (
            r"(?<!se )\b(?:tenho|há|estou (?:com|recebendo)|recebi|recebo|apareceu|deu|dá|está dando"
            r"|continua dando) (?:ainda |agora )?(?:um|este|esse|o mesmo|o seguinte|uns|esses"
            r"|estes) ?(?:\w{1,12} )?(?:erros?|bugs?|mensagem de erro)\b"
            r"|^erro ?:|(?<!se )\b<no> (?:está |estão |se |me )?(?:atualiz|mov|conect|execut|detect|reconhec|cri|ger"
            r"|permit|deix|encontr|aparec|carreg|salv|funcionand|mostrand)(?:a|e|ou|eu|am|em|ando|endo|ndo|o)\b"
            r"|\b(?:sumiu|sumiram|desapareceu|desapareceram)\b|\b(?:tela|página) (?:branca|em branco|preta)\b"
        ),
    ),
    (
        "reject_stated",
        "demais",
        (
            r"\bdemasiado (?:car[oa]|longe|tarde|cedo|longo|complicad[oa])\b|\bmuito car[oa]\b|\b(?:car[oa]|longe"
            r"|tarde|cedo|longo|complicad[oa]) demais\b|\b<no> me (?:convence|convém|interessa|agrada)\b|\b<no> "
            r"gost(?:o|ei)(?: (?:disso|nada|da ideia))?(?=[.!,]|$)|^<no>[,.!]+ ?(?:quero|queria|prefiro|preferia"
            r"|melhor|esse|essa|este|esta|aquele|aquela|digo|era|o outro|a outra)\b"
        ),
    ),
    (
        "abandon",
        "esquece",
        (
            r"\b(?:esqueça|esquece) (?:isso|lá|tudo)\b|^(?:ok[, ]+|bom[, ]+)?(?:esquece|esqueça|deixa|deixe)(?: "
            r"(?:pra lá|para lá|estar))?[.! ]*$|\b(?:deixa|deixe) (?:pra lá|para lá|estar)\b|\bdesisto\b|^<no> "
            r"importa[.! ]*$|\b(?:vou fazer|faço|vou procurar|procuro)(?: isso)? (?:eu mesm[oa]|sozinh[oa]|noutro "
            r"(?:lado|sítio)|em outro lugar)\b"
        ),
    ),
    (
        "thanks",
        "obrigado",
        (
            r"(?<!não )(?<!não, )(?<!nao )(?<!nao, )\b(?:(?:muito )?obrigad[oa]|brigad[oa]|agradeço|valeu)\b(?! (?:a"
            r"|por ter de)\b)"
        ),
    ),
    (
        "thanks",
        "perfeito",
        (
            r"^(?:sim[, ]+|ok[, ]+|ah[, ]+)?(?:perfeito|ótimo|ótima|exato|exatamente|excelente|fantástico|muito bem"
            r"|muito bom|maravilha|que bom|boa ideia|beleza)\b|\b(?:agora|já) (?:funciona|está bem|deu certo|está "
            r"certo)\b|^funciona[.! ]*$|\b<is> (?:mesmo |exatamente )(?:isso|o que)\b"
        ),
    ),
    (
        "action",
        "fico_com",
        (
            r"\b(?:fico com|vou levar|levo|vou reservar|reservo|vou comprar|compro) (?:esse|essa|este|esta|o|a|ele"
            r"|ela)\b|\bvou (?:experimentar|tentar|testar) (?:isso|esse|essa|assim)\b|\bpode reservar\b"
        ),
    ),
    (
        "follow",
        "e_o",
        (
            r"^(?:ok[, ]+|bom[, ]+|ótimo[, ]+|certo[, ]+)?(?:e (?:o|a|os|as|se|para|quanto|como|quando|onde"
            r"|qual)\b[^?]{0,80}\?|quanto (?:custa|demora|tempo)\b|(?:pode|podes) (?:também|me dizer|dizer-me)\b"
            r"|(?:conta|conte)(?:-me)? mais\b)"
        ),
    ),
    ("cue_no", "nao", r"^<no>\b"),
    ("cue_yes", "sim", r"^(?:sim|claro|ok|certo|pode ser|está bem|de acordo|correto|isso)(?=[\s,.!]|$)"),
    ("cue_reject", "nao_ha", r"\b(?:<no>|nunca|nada|nenhum|nenhuma|nem|infelizmente|em vez)\b"),
    ("acknowledge", "entendi", r"^(?:(?:ok|ah|oh|hm+|mhm|entendi|entendo|percebi|certo|tá)[.!, ]*){1,2}$"),
    (
        "postpone",
        "depois",
        (
            r"^(?:<no>[,. ]+)?(?:agora <no>|ainda <no>|hoje <no>|mais tarde|depois|talvez (?:depois|mais tarde"
            r"|amanhã)|<no>,? obrigad[oa])\b"
        ),
    ),
    ("cue_praise", "bom", r"\b(?:bom|boa|ótim[oa]|perfeit[oa]|excelente|fantástic[oa]|útil|interessante|legal)\b"),
    ("cue_bye", "adeus", r"\b(?:adeus|tchau|até (?:logo|breve|amanhã|mais)|bom dia|boa (?:tarde|noite))\b"),
    ("cue_but", "mas", r"\b(?:mas|porém|embora|no entanto)\b"),
    (
        "cue_clarify",
        "como",
        r"^(?:o quê|o que|como|desculpe|hã|quê) ?\?|\b<no> (?:entendi|entendo|percebi|percebo)\b|\bcomo assim\b",
    ),
    ("cue_repeat", "ja_disse", r"\b(?:já (?:te |lhe )?(?:disse|perguntei|pedi)|de novo|outra vez|repito|como disse)\b"),
    (
        "cue_other",
        "outra_coisa",
        (
            r"\boutra coisa\b|\boutr[oa]s (?:opções|ideias|sugestões|alternativas)\b|\balgo (?:mais|diferente"
            r"|melhor)\b"
        ),
    ),
    ("cue_ask", "pergunta", r"\?|^(?:quem|quando|onde|por que|porquê|como|qual|quais|quanto|quantos|pode|podes|há)\b"),
    (
        "veto",
        "sem_problema",
        (
            r"\b(?:sem problemas?|<no> (?:há|tem) problema|<no> faz mal|<no> est[áa] mal|<no> se preocupe|mais "
            r"nada)\b|\b<no>,? (?:obrigad[oa]|<is> tudo|é só isso)\b"
        ),
    ),
    pieces={
        # Excludes "my telephone doesn't work", which describes a problem to a help desk.
        "about": r"(?:^|[,.;!] ?|\b(?:mas|isso|isto|ainda|assim|o código|o script|o comando|o link|a solução) )",
        "is": "[ée]",
        "no": "n[ãa]o",
    },
)
