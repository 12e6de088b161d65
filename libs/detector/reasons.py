"""Plain-English descriptions of rules, patterns and features. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

#: Description of a message -> names of the patterns, rules and learned features that match such messages.
_SENTENCES: Final[Mapping[str, str]] = {
    "is in a language that the detector does not read": "abstained.language",
    "agrees to what the agent asked": "rule.agrees",
    "answers the agent's question": "rule.answers_question",
    "approves in a short answer to the agent's question": "rule.thanks_in_answer",
    "approves in an answer to the agent's question": "rule.approves_in_answer",
    "approves, but speaks of a failure or denies, too": "rule.mixed",
    "approves, in few words and without an objection": "rule.thanks",
    "approves, in many words or with an objection": "rule.approves",
    "asks about an unrelated topic": "rule.new_topic",
    "asks about the agent itself": "en.about_you learned.ask_agent rule.asks_agent",
    "asks for a change": "en.edit learned.cue_edit learned.imperative",
    "asks for a person": "en.forget_bot",
    "asks for something else": (
        "de.etwas_anderes en.find_another en.something_else es.otra_cosa fr.autre_chose it.altro ja.hoka "
        "learned.cue_other pt.outra_coisa ru.drugoe zh.bie_de"
    ),
    "asks a follow-up question": (
        "de.und en.detail en.what_about es.y fr.et it.e_il learned.follow pt.e_o rule.asks_on rule.follows zh.hai_you"
    ),
    "asks a question": (
        "de.frage en.question es.pregunta fr.question it.domanda ja.ka learned.asks learned.auxiliary "
        "learned.cue_ask learned.ends_asking learned.wh pt.pergunta ru.vopros zh.ma"
    ),
    "asks the same about something else": "rule.other_request",
    "asks to try again": "en.try_again",
    'begins with "no"': "de.nein en.leading_no es.no fr.non it.no ja.iie learned.cue_no pt.nao ru.net zh.bu",
    'begins with "yes"': "de.ja en.leading_yes es.si fr.oui it.si ja.hai learned.cue_yes pt.sim ru.da zh.hao",
    "introduces something new": "learned.fresh learned.number_new",
    "changes the subject": "en.new_topic learned.cue_topic",
    "comes after a long silence": "rule.silence",
    "corrects it": "en.no_correction",
    "corrects what the agent wanted confirmed": "rule.corrects_confirmation",
    "declines what the agent offered to do": "rule.declines_offer",
    "does not understand it": (
        "de.hae en.huh es.como fr.quoi it.cosa ja.nani learned.cue_clarify pt.como ru.chto rule.puzzled zh.shenme"
    ),
    "follows an answer without text": "rule.nothing_said",
    "gives an order without a complaint": "rule.orders_on",
    "gives up on it": (
        "de.vergiss_es en.give_up en.leave_it en.never_mind es.olvidalo fr.laisse_tomber it.lascia_perdere "
        "ja.mou_ii learned.abandon pt.esquece ru.zabud rule.gives_up zh.suan_le"
    ),
    "gives up on it, with thanks": "rule.gives_up_politely",
    "goes elsewhere": "en.elsewhere",
    'contains "but"': "de.aber en.but es.pero fr.mais it.ma ja.demo learned.cue_but pt.mas ru.no zh.danshi",
    "acknowledges the answer without a comment": (
        "de.aha en.acknowledged es.ya_veo fr.ah_bon it.capisco ja.naruhodo learned.acknowledge pt.entendi "
        "ru.ponyatno rule.acknowledges zh.en"
    ),
    "is similar to the previous request": (
        "learned.cosine_request learned.cosine_request_answer learned.in_request learned.jaccard "
        "learned.length_ratio learned.narrowed learned.number_in_request learned.repeats "
        "learned.request_again learned.same_intent learned.swapped learned.swapped_answered"
    ),
    "has a cue for the answer": "rule.hints_for",
    "has several cues against the answer": "rule.leans_against",
    "has several cues for the answer": "rule.leans_for",
    "is not about an answer, or has no words": "rule.nothing_to_judge",
    "is read this way by the learned layer": "learned",
    "is not satisfied": "en.not_satisfied",
    "needs nothing else": "rule.closes",
    "praises it, and asks for the next step": "rule.praises_and_goes_on",
    "puts it off": (
        "de.spaeter en.later es.luego fr.plus_tard it.dopo ja.ato_de learned.postpone pt.depois ru.pozzhe zh.yihou"
    ),
    "rejects a suggestion, or dislikes the answer": "rule.rejects_finally",
    "rejects and approves at once": "rule.for_and_against",
    "rejects the answer": "rule.rejects",
    "rejects the answer in spite of thanks": "rule.outweighs",
    "repeats the request in other words": "rule.same_request",
    'contains a harmless "no", such as "no problem"': (
        "de.kein_problem en.harmless_no es.no_hay_problema fr.pas_de_probleme it.nessun_problema ja.mondai_nai "
        "learned.veto pt.sem_problema ru.ne_problema zh.mei_guanxi"
    ),
    "says goodbye": (
        "de.tschuess en.bye es.adios fr.au_revoir it.ciao ja.sayonara learned.cue_bye pt.adeus ru.poka zh.zaijian"
    ),
    "repeats what was said before": (
        "de.ich_sagte en.i_said es.ya_dije fr.j_ai_dit it.ho_detto ja.itta learned.cue_repeat pt.ja_disse "
        "ru.ya_skazal zh.wo_shuo"
    ),
    "says no": "rule.bare_no",
    "says no and asks again": "rule.no_again",
    "says nothing that speaks either way": "rule.nothing",
    "says that it does not help": "en.didnt_help",
    "says that it does not work": (
        "de.bekomme_fehler de.bleibt de.immer_noch de.stuerzt_ab en.does_not_work es.no_funciona es.persiste "
        "es.se_cuelga es.tengo_un_error fr.j_ai_une_erreur fr.ne_marche_pas fr.persiste fr.plante it.ho_un_errore "
        "it.non_funziona it.persiste ja.error ja.mada ja.ugokanai pt.deu_um_erro pt.nao_funciona pt.persiste "
        "ru.ne_rabotaet ru.oshibka zh.bao_cuo_le zh.beng_kui zh.hai_shi_bu zh.mei_jie_jue zh.mei_yong "
        "zh.wei_shenme_hai zh.you_wenti"
    ),
    "says that it is not what was asked for": (
        "de.nicht_gefragt en.didnt_ask en.not_what_i_asked es.no_es_lo_que fr.pas_demande it.non_quello_che "
        "ja.katte_ni pt.nao_e_o_que zh.bu_shi_wo_yao zh.bu_shi_zhe zh.ni_zenme"
    ),
    "says that it is too much of something": "en.too_much",
    "says that it is wrong": (
        "de.gefaellt_nicht de.in_deinem de.ist_falsch de.stimmt_nicht en.bad_answer en.bare_wrong en.dont_think "
        "en.is_not_right en.is_wrong es.en_tu es.es_incorrecto fr.dans_ton fr.est_faux it.nel_tuo it.sbagliato "
        "ja.chigau learned.reject pt.errado pt.no_teu ru.nepravilno zh.bing_mei zh.bu_dui zh.bu_dui_a "
        "zh.dan_shi_bu zh.ni_de"
    ),
    "says that it makes no sense": "en.no_sense",
    "says that it works": "en.fixed en.that_works",
    "says that the agent got it wrong": (
        "de.missverstanden en.misunderstood es.no_entendiste fr.mal_compris it.frainteso pt.nao_entendeu zh.wujie"
    ),
    "says what is wanted": "en.wanted learned.cue_want",
    "says what is wanted instead": "en.i_want learned.restate",
    "says what was meant": (
        "de.ich_meinte en.i_meant en.i_wanted_to_know es.queria_decir fr.je_voulais_dire it.intendevo learned.meant "
        "pt.queria_dizer zh.wo_de_yisi"
    ),
    "sends the request again word for word": "rule.resent",
    "shows an error message": "learned.failed",
    "shows code": "learned.coded",
    "expresses dislike": "en.dislike en.not_my_taste en.seen_it learned.cue_taste",
    "is about the writer": "learned.starts_lower_i",
    "is about the subject, not about the answer": "rule.about_the_matter",
    "starts over": "en.rephrase",
    "refers to the answer's content": "learned.cosine_answer learned.in_answer learned.number_in_answer",
    "accepts an offer": (
        "de.nehme_ich en.book_it en.take_it en.will_check es.me_lo_quedo fr.je_prends it.lo_prendo learned.action "
        "pt.fico_com zh.jiu_zhe_ge"
    ),
    "thanks and needs nothing else": "rule.closes_with_thanks",
    "thanks": "de.danke en.thanks es.gracias fr.merci it.grazie ja.arigatou pt.obrigado ru.spasibo zh.xiexie",
    "thanks or praises": (
        "de.perfekt en.exclaimed en.is_right es.perfecto fr.parfait it.perfetto ja.kanpeki learned.thanks "
        "pt.perfeito ru.otlichno zh.hen_hao"
    ),
    "declines the answer": (
        "de.kaputt de.zu_viel en.turn_down es.averiado es.demasiado fr.en_panne fr.trop it.guasto it.troppo "
        "ja.janakute learned.reject_stated pt.avariado pt.demais zh.bao_cuo zh.tai"
    ),
    "uses words of praise": (
        "de.gut en.positive_word es.bien fr.bien it.bene ja.ii learned.cue_praise pt.bom ru.khorosho zh.hao_bang"
    ),
    "uses words of refusal": (
        "de.nicht en.instead en.leading_actually en.negated en.negative_word es.negacion fr.ne_pas it.non ja.nai "
        "learned.cue_reject pt.nao_ha ru.ne zh.bu_mei"
    ),
    "was written by a program": "rule.machine_text",
    "will do it without the agent": "en.myself",
}
_WORDS: Final[Mapping[str, str]] = {
    "llm": "is interpreted this way by a language model",
    **{name: words for words, names in _SENTENCES.items() for name in names.split()},
}


def reason_in_words(rules: Iterable[str]) -> tuple[str, ...]:
    """Return the descriptions of `rules`, in order and without duplicates.

    Each description continues a sentence about the message, such as "repeats the request in other words". Rules without
    a description are skipped.
    """
    return tuple(dict.fromkeys(words for rule in rules if (words := _WORDS.get(_family(rule)))))


def _family(rule: str) -> str:
    """Return the key of a rule in `_WORDS`.

    The key is the part of the name before a colon, or "llm" for all rules of language models.
    """
    if rule.startswith("llm."):
        return "llm"
    head, _, _ = rule.partition(":")
    return head.replace(" ", "_")
