"""Writes a language model of random weights and a tokenizer of single bytes: `python tiny_model.py FOLDER`."""

import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

TEMPLATE = (
    "{% for said in messages %}<{{ said.role }}>{{ said.content }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
set_seed(7)
vocabulary = {token: number for number, token in enumerate(["</s>", *pre_tokenizers.ByteLevel.alphabet()])}
bytes_of = Tokenizer(models.BPE(vocabulary, []))
bytes_of.pre_tokenizer, bytes_of.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytes_of, eos_token="</s>", pad_token="</s>")
tokenizer.chat_template = TEMPLATE
shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
model = LlamaForCausalLM(LlamaConfig(vocab_size=len(vocabulary), max_position_embeddings=1024, **shape))
for part in (tokenizer, model):
    part.save_pretrained(sys.argv[1])
