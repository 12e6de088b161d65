"""Function words (stop words), which do not indicate a question's topic. No I/O."""

from __future__ import annotations

from typing import Final

_BY_LANGUAGE: Final = {
    "English": (
        "about above across after again against all almost alone along already also although always among and another "
        "any anybody anyone anything anyway anywhere are aren around back became because become been before behind "
        "being below beneath beside besides between beyond both but can cannot could couldn did didn does doesn doing "
        "don done down due during each either else enough even ever every everybody everyone everything everywhere "
        "except few for from further get gets getting give given gives goes going gone got had hadn has hasn have "
        "haven having hello her here hers herself him himself his how however into isn its itself just keep last later "
        "least less let lets like lot made make makes many may maybe might mine more most mostly much must myself near "
        "need needs neither never next nobody none nor not nothing now nowhere off often okay once one ones only onto "
        "other others otherwise ought our ours ourselves out over own per perhaps please quite rather really same see "
        "seem seems several shall she should shouldn since some somebody somehow someone something sometimes somewhere "
        "soon still such sure take than thank thanks that the their theirs them themselves then there therefore these "
        "they thing things think this those though through thus till together too toward towards two under unless "
        "until upon use used uses using very via want wants was wasn way well went were weren what whatever when "
        "whenever where wherever whether which while who whoever whole whom whose why will with within without won "
        "would wouldn yes yet you your yours yourself yourselves "
    ),
    "German": (
        "aber als auch auf aus bei bis bitte das dass dem den der des die dir doch ein eine einem einen einer "
        "eines für gibt hab habe haben ich ihr ihre ihrem ihren immer ist kann können man mein meine meinem meinen "
        "meiner mich mir mit muss nach nicht noch nur oder ohne schon sein sich sie sind sollte und uns vom von vor "
        "wann warum was welche welchen welcher welches wenn wer werden wie wieder wir wird zum zur über "
    ),
    "French": (
        "aux avec avez ces cette chez comment dans des dois donc elle est faut ils les leur lui mais mes moi mon nos "
        "notre nous ont par pas peut peux plus pour pourquoi puis quand que quel quelle quelles quels qui sans ses "
        "son sont sur tes ton une vos votre vous "
    ),
    "Spanish and Portuguese": (
        "com como con cual cuando cuál cuándo cómo del donde dónde ella esta este esto está fue hay las los mas meu "
        "minha mis muy más nao nas nos não para pero pode por porque puede puedo qual que quiero qué sem ser sin "
        "sobre son sus tem tengo tiene uma una unas uno unos voce você "
    ),
    "Italian and Dutch": (
        "aan bij che chi come cosa dal dalla dat degli dei del della delle deze die dit dove een geen gli heb "
        "heeft het hoe kan kunnen maar met mijn naar niet nog non ook per perché più posso quali quanto questo sono "
        "tra uit voor waar waarom wanneer wat welke werd wie wil wordt zijn"
    ),
}
FUNCTION_WORDS: Final = frozenset(word for words in _BY_LANGUAGE.values() for word in words.split())
"""Function words of all languages, each of at least three letters."""
