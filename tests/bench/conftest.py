"""What the tests of the bench share: a tight cluster of rows with one clear outlier, and a table of labelled rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray


@pytest.fixture
def cluster() -> pd.DataFrame:
    """120 rows of eight fields that are nearly always "a"; each field is "b" in a few rows, never two at once."""
    rng = np.random.default_rng(5)
    values = np.full((120, 8), "a", dtype=object)
    odd = rng.permutation(120)[:64]
    values[odd, np.arange(64) % 8] = "b"
    return pd.DataFrame(values, columns=list("pqrstuvw"))


@pytest.fixture
def cluster_and_outlier(cluster: pd.DataFrame) -> pd.DataFrame:
    """Twenty rows of the cluster, and as the last one a row that is "b" throughout."""
    outlier = pd.DataFrame([["b"] * 8], columns=cluster.columns)
    return pd.concat([cluster.head(20), outlier], ignore_index=True)


@pytest.fixture
def labelled(cluster: pd.DataFrame) -> tuple[pd.DataFrame, NDArray[np.int8]]:
    """The cluster, and thirty rows that are "b" throughout, labelled 1."""
    odd = pd.DataFrame([["b"] * 8] * 30, columns=cluster.columns)
    return pd.concat([cluster, odd], ignore_index=True), np.repeat([0, 1], [120, 30]).astype(np.int8)


@pytest.fixture(scope="session")
def tiny_embedder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small text embedder, as sentence-transformers keeps them; its weights are random."""
    transformers = pytest.importorskip("transformers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(["see you at nine", "call me at ten"], trainer)
    wrapped = {"single": "[CLS] $A [SEP]", "special_tokens": [("[CLS]", 2), ("[SEP]", 3)]}
    tokenizer.post_processor = processors.TemplateProcessing(**wrapped)
    folder = tmp_path_factory.mktemp("embedders") / "tiny"
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = transformers.BertConfig(vocab_size=tokenizer.get_vocab_size(), **size)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.BertModel(config).save_pretrained(folder)
    named = dict(zip(("pad", "unk", "cls", "sep", "mask"), special, strict=True))
    tokens = {f"{name}_token": token for name, token in named.items()}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(folder)
    return folder
