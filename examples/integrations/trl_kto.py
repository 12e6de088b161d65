"""Trains a model by KTO on people's verdicts: `python trl_kto.py MODEL FOLDER`."""

import os
import sys

import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import KTOConfig, KTOTrainer

from agent_feedback_kit import Client

model, folder = sys.argv[1:]
url, token = os.environ["AGENT_FEEDBACK_URL"], os.environ["AGENT_FEEDBACK_TOKEN"]
with Client(url, token=token, tenant="acme", project="support") as client:
    columns = ("prompt", "completion", "label")
    rows = [{name: row[name] for name in columns} for row in client.export("kto")]
right, wrong = sum(row["label"] for row in rows), sum(not row["label"] for row in rows)
trainer = KTOTrainer(
    AutoModelForCausalLM.from_pretrained(model),
    args=KTOConfig(
        folder,
        num_train_epochs=1,
        per_device_train_batch_size=2,
        desirable_weight=max(1.0, wrong / max(right, 1)),
        undesirable_weight=max(1.0, right / max(wrong, 1)),
        use_cpu=not torch.cuda.is_available(),
        report_to="none",
    ),
    train_dataset=Dataset.from_list(rows),
    processing_class=AutoTokenizer.from_pretrained(model),
)
result = trainer.train()
trainer.save_model(folder)
print(f"{right} accepted and {wrong} rejected answers, {result.global_step} steps, loss {result.training_loss:.3f}")
