// The page "Move it yourself": sliders, three figures and a player, all from the map in two_scalars.js.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const root = document.getElementById("explore");
  if (!root) return;
  const plt = Bokeh.Plotting;
  const BLUE = "#0072B2", ORANGE = "#D55E00", GREY = "#595959";
  // Matplotlib's cividis at 32 levels, dark for low and light for high: readable with any colour vision.
  const CIVIDIS = ("#00224e #00285b #002d69 #05336e #19386d #263e6c #31446b #394a6c #424f6b #4a556c #515b6d #58606e " +
    "#5f6570 #666c72 #6e7274 #757777 #7c7d78 #848378 #8b8979 #938f78 #9a9577 #a29c76 #aba374 #b3a971 #bbaf6e #c4b66a " +
    "#cdbd66 #d6c460 #dfcb59 #e8d351 #f2da46 #fee838").split(" ");

  // name: [label, least, most, slider step, start, value of the slider -> value, how it is written]
  const whole = (x) => String(x);
  const short = (x) => Number(x.toPrecision(3)).toString();
  const controls = {
    D: ["Positions D", 4, 200, 1, 36, (x) => x, whole],
    K: ["Neighbours K", 1, 20, 1, 4, (x) => x, whole],
    slope: ["Slope κ (0 ReLU, 1 identity)", 0, 1, 0.05, 0, (x) => x, short],
    share: ["Step size η, in units of its limit 2K/(αD)", 0.02, 1.2, 0.02, 0.2, (x) => x, short],
    norm: ["‖V*‖", -1, 1, 0.05, 0.3, (x) => 10 ** x, short],
  };
  const form = root.querySelector(".explore-controls");
  const inputs = {};
  function slider(name, label, least, most, step, start) {
    const row = document.createElement("label");
    row.innerHTML = `<span>${label}</span> <output></output>`;
    const input = document.createElement("input");
    Object.assign(input, { type: "range", min: least, max: most, step, value: start, name });
    row.append(input);
    form.append(row);
    inputs[name] = { input, output: row.querySelector("output") };
  }
  for (const [name, [label, ...range]] of Object.entries(controls)) slider(name, label, ...range);
  const teacher = root.querySelector("select");

  const figure = (id, options) => {
    const plot = plt.figure({
      height: 300, sizing_mode: "stretch_width", tools: "pan,wheel_zoom,box_zoom,reset", active_scroll: null,
      background_fill_color: "white", border_fill_color: "white", ...options,
    });
    plot.toolbar.logo = null;
    plt.show(plot, document.getElementById(id));
    return plot;
  };
  const range = () => new Bokeh.Range1d({ start: 0, end: 1 });
  const source = (data) => new Bokeh.ColumnDataSource({ data });
  const of = (field) => ({ field });

  const loss = source({ x: [], y: [] }), law = source({ x: [], y: [] }), lossNow = source({ x: [], y: [] });
  const path = source({ x: [], y: [] }), best = source({ x: [], y: [] }), pathNow = source({ x: [], y: [] });
  const level = source({ image: [], x: [], y: [], w: [], h: [] }), heat = source({ image: [], w: [], h: [] });
  const levelColours = new Bokeh.LinearColorMapper({ palette: CIVIDIS, low: 0, high: 1 });
  const heatColours = new Bokeh.LinearColorMapper({ palette: CIVIDIS, low: 0, high: 1 });

  const a = figure("explore-loss", {
    x_axis_type: "log", y_axis_type: "log", x_axis_label: "step T", y_axis_label: "excess loss",
  });
  a.line(of("x"), of("y"), { source: law, line_color: GREY, line_dash: [6, 4], line_width: 2, legend_label: "law KD(D−K)/(4ηT)" });
  a.line(of("x"), of("y"), { source: loss, line_color: BLUE, line_width: 2.5, legend_label: "gradient descent" });
  a.scatter(of("x"), of("y"), { source: lossNow, fill_color: ORANGE, line_color: "black", size: 11 });
  a.legend.location = "bottom_left";

  const b = figure("explore-phase", { x_axis_label: "δ", y_axis_label: "C₁", x_range: range(), y_range: range() });
  b.image({ image: of("image"), x: of("x"), y: of("y"), dw: of("w"), dh: of("h"), source: level, color_mapper: levelColours });
  b.line(of("x"), of("y"), { source: best, line_color: "white", line_dash: [6, 4], line_width: 2 });
  b.line(of("x"), of("y"), { source: path, line_color: ORANGE, line_width: 2.5 });
  b.scatter(of("x"), of("y"), { source: pathNow, fill_color: ORANGE, line_color: "white", size: 12 });

  const c = figure("explore-scores", {
    x_axis_label: "output position i", y_axis_label: "input position j", x_range: range(), y_range: range(),
  });
  c.image({ image: of("image"), x: 0, y: 0, dw: of("w"), dh: of("h"), source: heat, color_mapper: heatColours });

  const { ndarray } = Bokeh.require("core/util/ndarray");

  // An image for Bokeh: row r, column col.
  function image(rows, columns, value) {
    const data = Float64Array.from({ length: rows * columns }, (_, at) => value(Math.floor(at / columns), at % columns));
    return ndarray(data, { dtype: "float64", shape: [rows, columns] });
  }

  // Three teachers with K neighbours a column; only the picture depends on which one it is.
  function isNeighbour(kind, D, K, j, i) {
    if (kind === "tokens") return j % Math.floor(D / K) === 0 && j < Math.floor(D / K) * K;
    if (kind === "ring") return (j - i + D + Math.floor((K - 1) / 2)) % D < K;
    const start = Math.min(Math.floor(i / K) * K, D - K);
    return j >= start && j < start + K;
  }

  let settings, run, timer = null;

  function read() {
    const value = {};
    for (const [name, [, , , , , convert, write]] of Object.entries(controls)) {
      value[name] = convert(Number(inputs[name].input.value));
      inputs[name].output.textContent = write(value[name]);
    }
    const most = Math.min(20, value.D - 1);
    inputs.K.input.max = most;
    if (value.K > most) {
      value.K = most;
      inputs.K.output.textContent = whole(most);
    }
    settings = { D: value.D, K: value.K, slope: value.slope, norm: value.norm };
    const stepSize = (value.share * 2 * value.K) / (TwoScalars.constants(settings).alpha * value.D);
    inputs.share.output.textContent = `${short(value.share)}, η = ${short(stepSize)}`;
    return stepSize;
  }

  // How long to run: 300 ends of the identity's plateau, within what a browser does at once.
  function length(stepSize) {
    const { D, K, norm } = settings;
    return Math.round(Math.min(1e6, Math.max(200, (300 * K * (D - K) ** 2) / (2 * stepSize * norm * norm))));
  }

  function recompute() {
    const stepSize = read();
    const { D, K, norm } = settings;
    const { alpha } = TwoScalars.constants(settings);
    run = TwoScalars.run(settings, stepSize, length(stepSize));
    run.stepSize = stepSize;
    loss.data = { x: run.steps.slice(1), y: run.excess.slice(1) };
    const lawAt = (T) => (K * D * (D - K)) / (4 * stepSize * T);
    const shown = run.steps.filter((T) => T > 0 && lawAt(T) < (2 * D * norm * norm * alpha) / K);
    law.data = { x: shown, y: shown.map(lawAt) };

    const top = Math.max(1.5, 1.1 * Math.max(...run.c1.filter((x) => x < 1e3)));
    const right = 1.05 * Math.max(1, run.delta.at(-1));
    const size = 90;
    const levels = image(size, size, (r, col) =>
      Math.log10(TwoScalars.excess(settings, (top * (r + 0.5)) / size, (right * (col + 0.5)) / size)));
    levelColours.low = Math.min(...levels);
    levelColours.high = Math.max(...levels);
    level.data = { image: [levels], x: [0], y: [0], w: [right], h: [top] };
    b.x_range.start = 0; b.x_range.end = right;
    b.y_range.start = 0; b.y_range.end = top;
    path.data = { x: run.delta, y: run.c1 };
    const deltas = Array.from({ length: 160 }, (_, i) => (right * i) / 159);
    best.data = {
      x: deltas,
      y: deltas.map((delta) => {
        const { p, theta } = TwoScalars.geometry(settings, delta);
        return (TwoScalars.kernel(settings, theta) * Math.cos(theta)) / (alpha * K * p);
      }),
    };
    c.x_range.start = 0; c.x_range.end = D;
    c.y_range.start = D; c.y_range.end = 0;
    player.max = run.steps.length - 1;
    player.value = player.max;
    show();
  }

  const player = root.querySelector(".explore-player input");
  const button = root.querySelector(".explore-player button");
  const words = root.querySelector(".explore-words");

  function show() {
    const at = Number(player.value);
    const { D, K } = settings;
    const [c1, delta] = [run.c1[at], run.delta[at]];
    const { p, q } = TwoScalars.geometry(settings, delta);
    lossNow.data = { x: at ? [run.steps[at]] : [], y: at ? [run.excess[at]] : [] };
    pathNow.data = { x: [delta], y: [c1] };
    const kind = teacher.value;
    heat.data = { image: [image(D, D, (j, i) => (isNeighbour(kind, D, K, j, i) ? p : q))], w: [D], h: [D] };
    heatColours.high = 1 / K;
    const T = run.steps[at];
    const constant = T ? (run.stepSize * T * run.excess[at]) / (K * D * (D - K)) : 0;
    const broken = run.excess.at(-1) > run.excess[0] ? " Descent breaks at this step size." : "";
    words.textContent = `Step ${T}: C₁ = ${short(c1)}, δ = ${short(delta)}, Kp = ${short(K * p)}, ` +
      `excess ${short(run.excess[at])}, ηT·excess/(KD(D−K)) = ${short(constant)}.${broken}`;
    root.dataset.state = JSON.stringify({ ...settings, stepSize: run.stepSize, step: T, c1, delta, excess: run.excess[at] });
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
  }
  button.addEventListener("click", () => {
    if (timer) return pause();
    if (Number(player.value) === Number(player.max)) player.value = 0;
    button.textContent = "Pause";
    timer = setInterval(() => {
      player.value = Number(player.value) + 1;
      show();
      if (Number(player.value) === Number(player.max)) pause();
    }, 50);
  });
  player.addEventListener("input", () => { pause(); show(); });
  teacher.addEventListener("change", show);
  form.addEventListener("input", (event) => {
    if (event.target.tagName === "SELECT") return;
    pause();
    recompute();
  });
  recompute();
});
