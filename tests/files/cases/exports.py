"""Whole exports: what banks, brokers, claims systems and warehouses hand out."""

from __future__ import annotations

from datetime import datetime

from ..case import LEFT_OUT, Case, Expected
from .texts import CATEGORY, DATE, NUMBER, by_hand

DAY = datetime(2024, 9, 25)

CASES: list[Case] = [
    by_hand(
        "german_bank.csv",
        4,
        {
            "Buchungstag": Expected(DATE, DAY),
            "Wertstellung": Expected(DATE, DAY),
            "Empfänger": Expected(CATEGORY, "Stadtwerke"),
            "Verwendungszweck": Expected(CATEGORY, "Abschlag 09/24"),
            "Betrag": Expected(NUMBER, -89.0),
            "Währung": Expected(CATEGORY, "EUR"),
        },
    ),
    by_hand(
        "us_brokerage.csv",
        4,
        {
            "Date": Expected(DATE, DAY),
            "Action": Expected(CATEGORY, "Buy"),
            "Symbol": Expected(CATEGORY, "ABC"),
            "Quantity": Expected(NUMBER, 100),
            "Price": Expected(NUMBER, 1012.5),
            "Amount": Expected(NUMBER, -101250.0),
        },
    ),
    by_hand(
        "indian_ledger.csv",
        4,
        {
            "Voucher Date": Expected(DATE, DAY),
            "Particulars": Expected(CATEGORY, "Rent"),
            "Debit (₹)": Expected(NUMBER, 125000.0),
            "Credit (₹)": Expected(NUMBER),
        },
    ),
    by_hand(
        "french_export.csv",
        4,
        {
            "Date": Expected(DATE, DAY),
            "Libellé": Expected(CATEGORY, "Loyer"),
            "Montant": Expected(NUMBER, 1250.0),
            "Taux": Expected(NUMBER, 5.5),
        },
    ),
    by_hand(
        "claims_system.csv",
        28,
        {
            "claim_no": Expected(LEFT_OUT),
            "loss_date": Expected(DATE, datetime(2024, 9, 1)),
            "reported": Expected(DATE, datetime(2024, 9, 3)),
            "amount": Expected(NUMBER, 1200.5),
            "status": Expected(CATEGORY, "OPEN"),
            "zip": Expected(CATEGORY, "01067"),
        },
    ),
    by_hand(
        "warehouse_nulls.csv",
        4,
        {
            "order_id": Expected(NUMBER, 1),
            "customer": Expected(CATEGORY, "ann"),
            "shipped_at": Expected(DATE, datetime(2024, 9, 25, 14, 30)),
            "total": Expected(NUMBER, 12.5),
            "coupon": Expected(CATEGORY),
        },
    ),
]
