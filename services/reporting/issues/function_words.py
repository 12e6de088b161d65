"""Function words (stop words), which do not indicate a question's topic. No I/O."""

from __future__ import annotations

from typing import Final

_BY_LANGUAGE: Final = {
    "English": (
        "about after all also and any are but can could did didn does doesn doing don done dont for from get got had "
        "has have her him his how into isn its just let make may might more most much must not now off our out please "
        "shall she should some such than that the their them then there these they this those too use want was wasn "
        "were what when where which who why will with won would you your "
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
