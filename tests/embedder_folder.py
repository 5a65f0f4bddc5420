"""A small text embedder in a folder, as transformers saves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPE = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}


def save_embedder(folder: Path, texts: list[str], *, longest: int = 24) -> Path:
    """An embedder that knows the words of these texts, whatever they mean, and sees `longest` - 2 of them at once."""
    import transformers
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(texts, trainers.WordLevelTrainer(special_tokens=SPECIAL, show_progress=False))
    wrapped: dict[str, Any] = {"single": "[CLS] $A [SEP]", "special_tokens": [("[CLS]", 2), ("[SEP]", 3)]}
    tokenizer.post_processor = processors.TemplateProcessing(**wrapped)
    config = transformers.BertConfig(vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=longest, **SHAPE)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.BertModel(config)
    model.embeddings.word_embeddings.weight.data.mul_(50)  # words far apart
    model.save_pretrained(folder)
    named = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    tokens = {f"{name}_token": token for name, token in named.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(folder)
    return folder
