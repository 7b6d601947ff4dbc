"""Tables and charts of the manual's page on benchmarks, from the newest of `benchmarks/results/*.json`.

Charts are SVG inside the page: they take its colours, and nothing binary has to be kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

Result = dict[str, Any]
Bar = tuple[str, float, bool]
"""Label, value, and whether it is ours."""

NOTHING = {"en": "Not measured yet.\n", "zh": "尚未测量。\n"}
CHINESE = {
    "model": "模型",
    "threads": "线程",
    "side": "对象",
    "target tokens/s": "目标词元/秒",
    "share of the peak": "占峰值的比例",
    "processor": "处理器",
    "peak MiB": "内存峰值 MiB",
    "ours is faster by": "速度为对方的几倍",
    "ours": "yiwen",
    "loop": "PyTorch 循环",
    "1 thread": "单线程",
    "2 threads": "双线程",
    "target tokens an update": "每次更新的目标词元",
    "attention": "注意力",
    "packed": "packed（CUDA 图）",
    "fused": "fused",
    "packed is faster by": "packed 的速度为 fused 的几倍",
    "device": "设备",
    "ms": "毫秒",
    "products": "矩阵乘法",
    "norms": "归一化",
    "softmax of the loss": "损失的 softmax",
    "optimizer and average": "优化器与滑动平均",
    "sums": "求和",
    "copies": "复制",
    "other": "其他",
    "all with the processor": "整次更新（连同处理器）",
    "engine": "引擎",
    "student, CTranslate2 int8": "学生，CTranslate2 int8",
    "CTranslate2 int8 + shortlist": "CTranslate2 int8 + 候选词表",
    "beam": "束宽",
    "sentences/s": "句/秒",
    "alone: ms, p50": "单句毫秒 p50",
    "ms, p95": "毫秒 p95",
    "BLEU": "BLEU",
    "run": "训练",
    "final model, test set": "最终模型，测试集",
    "minutes to validation BLEU": "达到验证集 BLEU 的分钟数",
    "not reached": "未达到",
    "ratio of sentences/s": "句/秒之比",
    "median": "中位数",
    "least to greatest": "最小到最大",
    "whole path / direct, beam 1": "整条路径 / 直接调用，束宽 1",
    "whole path / direct, beam 5": "整条路径 / 直接调用，束宽 5",
    "student, beam 1 / teacher, beam 5": "学生，束宽 1 / 教师，束宽 5",
    "student / teacher, beam 1": "学生 / 教师，束宽 1",
    "student / teacher, beam 5": "学生 / 教师，束宽 5",
    "validation BLEU by minutes of training": "验证集 BLEU 与训练分钟数",
    "measured on": "测量日期",
    "versions": "版本",
    "recipe": "配方",
    "test set": "测试集",
    "BLEU, cased": "BLEU（区分大小写）",
    "BLEU, lower-cased": "BLEU（不区分大小写）",
    "chrF2": "chrF2",
    "TER": "TER",
    "search": "搜索",
    "minutes": "分钟",
    "trained on": "训练硬件",
    "Signatures of cased BLEU: {}.": "区分大小写的 BLEU 的签名：{}。",
    "system": "系统",
    "BLEU, as published": "发表的 BLEU",
    "read or recalled": "查到或凭记忆",
    "read": "查到",
    "recalled": "凭记忆",
    "where": "出处",
    "trained with synthetic images (Guo et al. 2023)": "训练时用了合成图像（Guo 等，2023）",
    "Transformer-Tiny, text only (Wu et al. 2021)": "Transformer-Tiny，只用文本（Wu 等，2021）",
    "a summary of the paper; its scorer is not verified": "论文的摘要；评分方式未核实",
    "from memory; its scorer is not verified": "凭记忆；评分方式未核实",
    "README-baseline.md of LividWo/Revisit-MMT, the paper's code: fairseq's BLEU of tokenised text, case not said": (
        "论文的代码 LividWo/Revisit-MMT 中的 README-baseline.md：fairseq 对切分后的文本算出的 BLEU，未说明大小写"
    ),
    "ours, cased": "我们的（区分大小写）",
    "not measured": "尚未测量",
    "development set": "开发集",
    "lines": "行数",
    "false alarms": "误报",
    "clause omitted": "漏译分句",
    "clause omitted, 40 % or more": "漏译分句（四成以上）",
    "phrase repeated": "重复短语",
    "number changed": "数字改变",
    "placeholder lost": "丢失占位符",
    "checking costs": "检查的开销",
    "with repairs": "连同修复",
    "flagged": "有标记",
    "repairs with a higher chrF2": "修复后 chrF2 更高",
    "planted into translations of": "被植入错误的译文",
    "weights of": "权重来自",
    "its own": "数据集自己",
    "confidence (across) and share that was good (up); expected calibration error": (
        "置信度（横）与好译文的比例（纵）；期望校准误差"
    ),
    "THUMT big, all of WMT18's text, tokenised and lower-cased": "THUMT big，WMT18 全部文本，切分并小写",
    "THUNLP-MT/THUMT docs/benchmarks.md, its scorer in docs/walkthrough.md": (
        "THUNLP-MT/THUMT docs/benchmarks.md，评分方式见 docs/walkthrough.md"
    ),
    "Bitextor tiny11 student, web text": "Bitextor tiny11 学生模型，网络文本",
    "README of the Bitextor Chinese-English models": "Bitextor 中英模型的 README",
}

Say = Callable[[str], str]


def pages(results: Path, language: str) -> dict[str, str]:
    """Generated parts of the page by name: training, translation, time_to_bleu."""
    found = [
        {**json.loads(path.read_text(encoding="utf-8")), "file": path.name} for path in sorted(results.glob("*.json"))
    ]
    chosen = {name: [each for each in found if name in parts_of(each)] for name in PARTS}
    say: Say = (lambda text: CHINESE.get(text, text)) if language == "zh" else (lambda text: text)
    texts = {name: part(chosen[name], say) if chosen[name] else NOTHING[language] for name, part in PARTS.items()}
    return {name: set_in_chinese(text) for name, text in texts.items()} if language == "zh" else texts


def set_in_chinese(text: str) -> str:
    """Full-width commas and colons beside Chinese characters, no space before a per cent sign."""
    beside = r"([,:]) (?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])([,:]) "
    return re.sub(beside, lambda found: {",": "，", ":": "："}[found.group().strip()], text.replace(" %", "%"))


def parts_of(result: Result) -> tuple[str, ...]:
    """The parts that a result appears in."""
    name = result.get("benchmark", "")
    if name == "training" and result.get("device", "cpu") != "cpu":
        return ("gpu",)
    return ("scores",) if name == "published" else (name,)


def training(results: list[Result], say: Say) -> str:
    """Rates of both sides, and of other toolkits."""
    kept = newest(results, lambda r: (r["model"], r["threads"], r.get("kind", "speed"), r["precision"]))
    rows, bars = [], []
    for result in kept:
        for side, rate in result["tokens_per_s"].items():
            is_ours = side == "ours" or result.get("kind", "speed") != "speed"
            name = f"{say(side)} {result['precision']}" if is_ours else say(side)
            ratio = result.get("ratios", {"loop": {"median": result["ratio"]}}).get(side, {}).get("median")
            cells = [result["model"], result["threads"], name, f"{rate:,}"]
            cells.append(f"{result['share_of_peak'][side]:.0%} {result.get('peak_type', 'bf16')}")
            cells += [f"{result['peak_mib'][side]:,}", "" if ratio is None else f"{ratio:.2f}"]
            rows.append([*cells, result["hardware"]["processor"], result["date"]])
            bars.append((f"{result['model']}, {result['threads']}: {name}", rate, is_ours))
    header = ["model", "threads", "side", "target tokens/s", "share of the peak", "peak MiB", "ours is faster by"]
    rates = table([*header, "processor", "measured on"], rows, say)
    return f"{bar_chart(bars, say('target tokens/s'))}\n{rates}\n{versions(kept, say)}"


def on_gpu(results: list[Result], say: Say) -> str:
    """Rates of two kinds of attention on a GPU, and where its time goes."""
    rates, times = [], []
    kept = newest(results, lambda r: (r["model"], r["tgt_tokens_an_update"]))
    for result in kept:
        size = f"{result['tgt_tokens_an_update']:,}"
        for side, rate in result["tokens_per_s"].items():
            share, ratio = result["share_of_peak"][side], result["ratios"].get(side)
            spread = f"{ratio['median']:.2f} ({ratio['min']:.2f} – {ratio['max']:.2f})" if ratio else ""
            rates.append([result["model"], size, say(side), f"{rate:,}", f"{share:.1%}", spread])
            rates[-1] += [f"{result['peak_mib'][side]:,}", result["hardware"]["device"], result["date"]]
            spent = result["milliseconds_by_kind"][side]
            times.append([result["model"], say(side), *(f"{each:.1f}" for each in spent.values())])
    header = ["model", "target tokens an update", "attention", "target tokens/s", "share of the peak"]
    header += ["packed is faster by", "peak MiB", "device", "measured on"]
    kinds = [f"{say('ms')}: {say(kind)}" for kind in next(iter(results[0]["milliseconds_by_kind"].values()))]
    return "\n".join(
        [table(header, rates, say), table(["model", "attention", *kinds], times, say), versions(kept, say)]
    )


def translation(results: list[Result], say: Say) -> str:
    """Rates of the engines, and the ratios that were measured in turn."""
    real = [result for result in results if not result["model"].startswith("demo")] or results
    parts = []
    for result in newest(real, lambda r: (r["model"].partition(":")[0], r["threads"])):
        entries = result["table"]
        bars = [
            (
                f"{say(entry['engine'])}, {say('beam')} {entry['beam']}",
                entry["sentences_per_s"],
                "Hugging" not in entry["engine"],
            )
            for entry in sorted(entries, key=lambda entry: (-entry["beam"], -entry["sentences_per_s"]))
        ]
        rows = [
            [
                *(say(entry["engine"]), entry["beam"], f"{entry['sentences_per_s']:,.0f}"),
                *(f"{entry['tgt_tokens_per_s']:,.0f}", f"{entry['p50_ms']:.1f}", f"{entry['p95_ms']:.1f}"),
                *(f"{entry['peak_mib']:,}", "" if entry["bleu"] is None else f"{entry['bleu']:.2f}"),
            ]
            for entry in entries
        ]
        ratios = [
            [say(name), f"{found['rate']['median']:.2f}", f"{found['rate']['min']:.2f} – {found['rate']['max']:.2f}"]
            for name, found in result["ratios"].items()
        ]
        header = ["engine", "beam", "sentences/s", "target tokens/s", "alone: ms, p50", "ms, p95", "peak MiB", "BLEU"]
        parts += [
            f"{result['model']}; {result['text']}; {say('threads')}: {result['threads']}; {measured_on(result)}\n",
            bar_chart(bars, say("sentences/s")),
            table(header, rows, say),
            table(["ratio of sentences/s", "median", "least to greatest"], ratios, say),
        ]
    return "\n".join(parts)


def time_to_bleu(results: list[Result], say: Say) -> str:
    """Minutes to each goal, and the curves."""
    kept = [r for r in newest(results, lambda r: (trained_on(r), r["run"])) if r["minutes_to"]]
    rows = []
    for result in kept:
        goals = [say("not reached") if goal is None else f"{goal:.1f}" for goal in result["minutes_to"].values()]
        test = f"{result['test']['bleu']:.2f}" if "test" in result else ""
        chosen = result["hardware"]["chosen"]
        processor = result["hardware"]["machine"]["processor"]
        rows.append([result["run"], trained_on(result), processor, chosen["threads"], *goals, test, result["date"]])
    lines = {
        f"{result['run']}, {trained_on(result)}": [(p["minutes"], p["valid_bleu"]) for p in result["points"]]
        for result in kept
    }
    goals = [f"{say('minutes to validation BLEU')} {goal}" for goal in (kept[0]["minutes_to"] if kept else ())]
    header = ["run", "device", "processor", "threads", *goals, "final model, test set", "measured on"]
    chart = line_chart(lines, say("validation BLEU by minutes of training"))
    return f"{chart}\n{table(header, rows, say)}\n{versions(kept, say)}"


def trained_on(result: Result) -> str:
    """`CPU`, or the name of a GPU."""
    hardware = result["hardware"]
    return "CPU" if hardware["chosen"]["device"] == "cpu" else str(hardware["machine"]["device"])


def scores(results: list[Result], say: Say) -> str:
    """Test scores of each recipe, and what others published for the same text."""
    ours = newest((r for r in results if r["benchmark"] == "scores"), lambda r: (r["run"],))
    rows, signatures, published = [], [], []
    best: dict[tuple[str, str], str] = {}
    for result in ours:
        chosen = result["hardware"]["chosen"]
        where = f"{result['hardware']['machine']['processor']}, {chosen['threads']} × {chosen['precision']}"
        minutes = "–" if result["minutes"] is None else f"{result['minutes']:.1f}"
        for test in result["tests"]:
            cells = {"cased": "", "lower-cased": "", "chrF2": "", "TER": ""}
            for score in test["scores"]:
                is_lower = "case:lc" in score["signature"]
                kind = ("lower-cased" if is_lower else "cased") if score["name"] == "BLEU" else score["name"]
                interval = f" [{score['low']:.1f},\u00a0{score['high']:.1f}]" if score["low"] is not None else ""
                if score["name"] == "BLEU" or not is_lower:
                    cells[kind] = f"{score['value']:.2f}{interval}"
                if kind == "cased":
                    best[result["run"], test["test_set"]] = f"{score['value']:.2f}"
                if kind == "cased" and score["signature"] not in signatures:
                    signatures.append(score["signature"])
            rows.append(
                [
                    f"`{result['run']}`",
                    test["test_set"],
                    *cells.values(),
                    result["search"].replace("beam", say("beam")),
                    minutes,
                    where,
                    result["date"],
                ]
            )
    for entry in (row for r in results if r["benchmark"] == "published" for row in r["rows"]):
        ours_is = best.get((entry["recipe"], entry["test_set"])) or entry.get("ours") or say("not measured")
        cells = [f"`{entry['recipe']}`", entry["test_set"], ours_is, say(entry["system"]), f"{entry['bleu']:.2f}"]
        published.append([*cells, say(entry["status"]), say(entry["where"])])
    header = [
        "recipe",
        "test set",
        "BLEU, cased",
        "BLEU, lower-cased",
        "chrF2",
        "TER",
        "search",
        "minutes",
        "trained on",
        "measured on",
    ]
    beside = ["recipe", "test set", "ours, cased", "system", "BLEU, as published"]
    commands = "\n".join(dict.fromkeys(result["command"] for result in ours))
    return "\n".join(
        [
            table(header, rows, say),
            say("Signatures of cased BLEU: {}.").format(", ".join(f"`{each}`" for each in signatures)) + "\n",
            versions(ours, say),
            f"```bash\n{commands}\n```\n",
            table([*beside, "read or recalled", "where"], published, say),
        ]
    )


def checks(results: list[Result], say: Say) -> str:
    """Planted faults found, false alarms, and what checks and repairs do to models' translations."""
    result = max(results, key=lambda r: (r["date"], len(r["models"]), r["file"]))
    kinds = sorted({kind for row in result["sets"] for kind in row["found"]})
    rows = [
        [
            *(row["set"], row["model"] or say("its own"), f"{row['lines']:,}"),
            percent(row["false_alarms"].get("any", 0), 1),
            *(percent(row["found"][kind]["share"]) if kind in row["found"] else "" for kind in kinds),
        ]
        for row in result["sets"]
    ]
    parts = [table(["development set", "weights of", "lines", "false alarms", *kinds], rows, say)]
    rows = [
        [
            *(f"{model['name']}, {say('beam')} {beam}", percent(b["looking"], 1), percent(b["all"], 1)),
            f"{percent(b['flagged_before'], 1)} → {percent(b['flagged_after'], 1)}",
            *(f"{b[score][0]:.2f} → {b[score][1]:.2f}" for score in ("bleu", "chrf")),
            f"{percent(b['changed_better'])} / {b['changed']}",
        ]
        for model in result["models"]
        for beam, b in model["beams"].items()
    ]
    header = ["model", "checking costs", "with repairs", "flagged", "BLEU", "chrF2", "repairs with a higher chrF2"]
    planted = [
        [model["name"], *(f"{percent(f['share'])} / {f['n']:,}" for _, f in sorted(model["found"].items()))]
        for model in result["models"]
    ]
    if rows:
        parts += [table(header, rows, say), table(["planted into translations of", *kinds], planted, say)]
    for model in result["models"]:
        if "reliability" in model:
            error = percent(model["calibration_error"], 1)
            title = say("confidence (across) and share that was good (up); expected calibration error")
            points = [(mean, share) for _, mean, share in model["reliability"]]
            parts.append(scatter(points, f"{model['name']}: {title} {error}"))
    return "\n".join([*parts, f"{measured_on(result)}\n"])


def measured_on(result: Result) -> str:
    """Processor, versions and day."""
    machine = result["hardware"]
    versions = ", ".join(f"{name} {machine[name]}" for name in ("yiwen", "torch", "ctranslate2") if name in machine)
    return f"{machine['processor']}; {versions}; {result['date']}"


def versions(results: list[Result], say: Say) -> str:
    """The versions that a table's results were measured with."""
    machines = [result["hardware"].get("machine", result["hardware"]) for result in results]
    found = {f"{name} {machine[name]}" for machine in machines for name in ("yiwen", "torch") if name in machine}
    return f"{say('versions')}: {', '.join(sorted(found))}\n"


def percent(share: float, digits: int = 0) -> str:
    """A share for a reader."""
    return f"{100 * share:.{digits}f} %"


PARTS: dict[str, Callable[[list[Result], Say], str]] = {
    "training": training,
    "gpu": on_gpu,
    "translation": translation,
    "time_to_bleu": time_to_bleu,
    "scores": scores,
    "checks": checks,
}


def newest(results: Iterable[Result], key: Callable[[Result], tuple[Any, ...]]) -> list[Result]:
    """The newest result of each kind; of the same day the one with more columns."""
    kept: dict[tuple[Any, ...], Result] = {}
    for result in sorted(results, key=lambda r: (r["date"], len(r.get("tokens_per_s", ())), r["file"])):
        kept[key(result)] = result
    return [kept[name] for name in sorted(kept)]


def table(header: list[str], rows: list[list[Any]], say: Say) -> str:
    """A table; columns of numbers to the right."""
    numbers = [all(re.match(r"[-+–]?\d|–?$", str(row[i])) for row in rows) for i in range(len(header))]
    lines = [" | ".join(map(say, header)), " | ".join("---:" if each else "---" for each in numbers)]
    return "".join(f"| {line} |\n" for line in [*lines, *(" | ".join(map(str, row)) for row in rows)])


def bar_chart(bars: list[Bar], title: str) -> str:
    """Horizontal bars, ours in the colour of the page."""
    top = max((value for _, value, _ in bars), default=0) or 1
    parts = [f'<text x="0" y="14" font-weight="bold">{escape(title)}</text>']
    for i, (label, value, is_ours) in enumerate(bars):
        y, width = 24 + 22 * i, max(1, round(300 * value / top))
        colour = "#009688" if is_ours else "#9e9e9e"
        parts += [
            f'<text x="310" y="{y + 13}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="320" y="{y}" width="{width}" height="17" fill="{colour}"/>',
            f'<text x="{326 + width}" y="{y + 13}">{value:,.0f}</text>',
        ]
    return svg(parts, height=30 + 22 * len(bars), title=title)


def line_chart(lines: dict[str, list[tuple[float, float]]], title: str) -> str:
    """One line a run over minutes, from 0 to the highest score."""
    points = [point for line in lines.values() for point in line]
    longest, top = (max((point[i] for point in points), default=0) or 1 for i in (0, 1))
    parts = [f'<text x="0" y="14" font-weight="bold">{escape(title)}</text>']
    for score in range(0, int(top) + 1, 10):
        y = 225 - 190 * score / top
        parts.append(f'<line x1="40" x2="600" y1="{y:.0f}" y2="{y:.0f}" stroke="currentColor" opacity="0.2"/>')
        parts.append(f'<text x="32" y="{y + 4:.0f}" text-anchor="end">{score}</text>')
    for minute in range(0, int(longest) + 1, max(1, int(longest) // 8)):
        parts.append(f'<text x="{40 + 560 * minute / longest:.0f}" y="244" text-anchor="middle">{minute}</text>')
    for i, (name, line) in enumerate(lines.items()):
        path = " ".join(f"{40 + 560 * x / longest:.0f},{225 - 190 * y / top:.0f}" for x, y in line)
        colour = ("#009688", "#ef6c00", "#9575cd", "#9e9e9e")[i % 4]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = 212 - 18 * (len(lines) - 1 - i)
        parts.append(f'<line x1="366" x2="386" y1="{y - 4}" y2="{y - 4}" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text x="394" y="{y}">{escape(name)}</text>')
    return svg(parts, height=250, title=title)


def scatter(points: list[tuple[float, float]], title: str) -> str:
    """Points between 0 and 1 beside the diagonal."""
    parts = [f'<text x="0" y="14" font-weight="bold">{escape(title)}</text>']
    parts.append('<path d="M40 30V230H240" fill="none" stroke="currentColor" opacity="0.5"/>')
    parts.append('<line x1="40" y1="230" x2="240" y2="30" stroke="currentColor" opacity="0.3" stroke-dasharray="4"/>')
    for tick in (0, 0.5, 1):
        parts.append(f'<text x="{40 + 200 * tick:.0f}" y="246" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="34" y="{234 - 200 * tick:.0f}" text-anchor="end">{tick:g}</text>')
    parts += [f'<circle cx="{40 + 200 * x:.0f}" cy="{230 - 200 * y:.0f}" r="4" fill="#009688"/>' for x, y in points]
    return svg(parts, height=252, title=title)


def svg(parts: list[str], *, height: int, title: str) -> str:
    """A drawing as a block of HTML without blank lines, so that Markdown leaves it alone; a phone scrolls it."""
    head = (
        f'<svg viewBox="0 0 760 {height}" style="min-width: 28rem" role="img" aria-label="{escape(title)}" '
        'font-size="12" fill="currentColor">'
    )
    return "\n".join(['<div style="overflow-x: auto">', head, *parts, "</svg>", "</div>", ""])
