"""How good is a classifier with nothing to set, in river's own harness?

Elec2: will the price of electricity in New South Wales rise in this half hour? Four classifiers go
through the first 10,000 rows once, each row predicted before its answer is learned; the Sword needs
no scaler before it and no learning rate. At the end its state goes to a file and comes back, as it
would in a service that restarts.
"""

import tempfile
from pathlib import Path

from river import dummy, evaluate, linear_model, metrics, preprocessing

from swordplay import datasets
from swordplay.river import SwordClassifier

ROWS = 10_000

prices = datasets.electricity()
features = [dict(zip(prices.names, row, strict=True)) for row in prices.features[:ROWS].tolist()]
stream = list(zip(features, (prices.targets[:ROWS] == 1).tolist(), strict=True))

models = {
    "class frequencies": dummy.PriorClassifier(),
    "no change": dummy.NoChangeClassifier(),
    "river's scaler | logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "SwordClassifier": SwordClassifier(),
}
for name, model in models.items():
    accuracy, log_loss = evaluate.progressive_val_score(
        stream, model, metrics.Accuracy() + metrics.LogLoss()
    )
    print(f"{name:26} accuracy {accuracy.get():.3f}   log loss {log_loss.get():.3f}")

sword = models["SwordClassifier"]
print(sword.summary())

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "electricity.sword")
    sword.save(path)
    again = SwordClassifier.load(path)
last = features[-1]
assert again.predict_proba_one(last) == sword.predict_proba_one(last)
print(
    f"From the file: a rise with probability {again.predict_proba_one(last)[True]:.3f}, the same "
    "to the last bit."
)
