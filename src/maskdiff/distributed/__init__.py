"""The same detectors on a Ray cluster, for tables that one machine cannot hold or would take too long for.

    score(detector, ray.data.read_parquet("s3://bucket/claims/"))          # a dataset in, a dataset out
    fit_files("big/*.parquet", "claims.maskdiff")                          # learns from all rows, trains on a sample
    score_files("claims.maskdiff", "in/*.parquet", "out/")                 # files in, files out; goes on after faults
    find_files("claims/*.csv", "found.csv")                                # the odd rows, where nobody knows which

Rows are scored by `maskdiff.jobs`, as on one machine: same columns, same values. Needs `pip install "maskdiff[ray]"`.
"""

from maskdiff.distributed.cluster import ClusterOptions
from maskdiff.distributed.dataset_scoring import score
from maskdiff.distributed.file_scoring import score_files
from maskdiff.distributed.files_summary import FilesSummary
from maskdiff.distributed.finding import find_files
from maskdiff.distributed.fitting import fit_files

__all__ = ["ClusterOptions", "FilesSummary", "find_files", "fit_files", "score", "score_files"]
