"""How good is a classifier with nothing to set, in river's own harness?

Phishing is a small stream that comes with river: 1,250 web sites, nine features, is it a fraud. Three classifiers go through
it once, each site predicted before its answer is learned; the Sword needs no scaler before it and no learning rate. At the
end its state goes to a file and comes back, as it would in a service that restarts.
"""

import tempfile
from pathlib import Path

from river import datasets, dummy, evaluate, linear_model, metrics, preprocessing

from swordplay.river import SwordClassifier

models = {
    "class frequencies": dummy.PriorClassifier(),
    "river's scaler | logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "SwordClassifier": SwordClassifier(),
}
for name, model in models.items():
    scores = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + metrics.LogLoss())
    accuracy, log_loss = scores
    print(f"{name:26} accuracy {accuracy.get():.3f}   log loss {log_loss.get():.3f}")

sword = models["SwordClassifier"]
print(sword.summary())

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "phishing.sword")
    sword.save(path)
    again = SwordClassifier.load(path)
site, _ = next(iter(datasets.Phishing()))
assert again.predict_proba_one(site) == sword.predict_proba_one(site)
print(f"From the file: fraud with probability {again.predict_proba_one(site)[True]:.3f}, the same to the last bit.")
