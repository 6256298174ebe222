"""Learning rates as the loops of four releases set them, step after step: what the optimizer of each has as its rate
when it updates. Written from what their trainers do, not from longhaul's formula. The output is tests/golden/schedule.csv:

    python3 tests/oracles/schedule.py > tests/golden/schedule.csv
"""
import math

RATE, FINAL, STEPS = 0.01, 0.001, 40


def cosine(ramp, final):
    return final + (RATE - final) * (1 + math.cos(math.pi * ramp)) / 2


def transformer_xl(warmup):
    """PyTorch: the optimizer begins with the whole rate; the rate of the next update is set behind each one."""
    rate, rates = RATE, []
    for done in range(1, STEPS + 1):
        rates.append(rate)
        rate = RATE * done / warmup if done < warmup else cosine(done / STEPS, 0)
    return rates


def transformer_xl_tensorflow(warmup):
    """The rate is a function of the updates before, and the cosine has what the warm-up leaves."""
    return [RATE * done / warmup if done < warmup else cosine((done - warmup) / (STEPS - warmup), FINAL)
            for done in range(STEPS)]


def staircase(warmup):
    """The trainer steps its schedule, then its optimizer."""
    epoch, rates = 0, []
    for _ in range(STEPS):
        epoch += 1
        rates.append(RATE * min(1, epoch / warmup))
    return rates


def meliad(warmup):
    """A ramp times the schedule, whose step is held until the warm-up is over."""
    return [cosine(max(done, warmup) / STEPS, FINAL) * min(done, warmup) / warmup for done in range(STEPS)]


def main():
    print("options,step,rate")
    for options, rates in (
        ("schedule=cosine first_rate=full decay_from=start", transformer_xl),
        (f"schedule=cosine final_rate={FINAL}", transformer_xl_tensorflow),
        ("schedule=constant first_rate=step", staircase),
        (f"schedule=cosine decay_from=start_held final_rate={FINAL}", meliad),
    ):
        for warmup in (1, 8):
            for step, rate in enumerate(rates(warmup)):
                print(f"rate={RATE} steps={STEPS} warmup={warmup} {options},{step},{rate:.17g}")


main()
