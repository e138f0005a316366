// The exact map of (C1, delta), as bilinear.dynamics.Reduced has it: gradient descent on the matrices moves no other
// number. A test runs both and compares them.
"use strict";

const TwoScalars = (() => {
  // settings: {D, K, slope, norm} with norm = ||V*||_F
  function constants({ slope }) {
    return { alpha: (1 + slope * slope) / 2, gamma: (1 - slope) ** 2 / (2 * Math.PI) };
  }

  function geometry({ D, K }, delta) {
    const ratio = Math.exp(-delta);
    const p = 1 / (K + (D - K) * ratio);
    const q = ratio * p;
    return { p, q, theta: Math.atan2(Math.sqrt(D - K) * ratio, Math.sqrt(K)), n: Math.sqrt(K * p * p + (D - K) * q * q) };
  }

  // sin(theta) - theta cos(theta), by its series where the difference would lose digits
  function sineGap(theta) {
    if (theta >= 0.3) return Math.sin(theta) - theta * Math.cos(theta);
    const s = theta * theta;
    const tail = 1 - (s / 54) * (1 - (s / 88) * (1 - s / 130));
    return ((theta * s) / 3) * (1 - (s / 10) * (1 - (s / 28) * tail));
  }

  function kernel(settings, theta) {
    const { alpha, gamma } = constants(settings);
    return alpha * Math.cos(theta) + gamma * sineGap(theta);
  }

  function excess(settings, c1, delta) {
    const { D, K, norm } = settings;
    const { alpha, gamma } = constants(settings);
    const { n, theta } = geometry(settings, delta);
    const angle = c1 < 0 ? Math.PI - theta : theta;
    const target = 1 / Math.sqrt(K);
    const size = Math.abs(c1) * n;
    const gap = 2 * alpha * Math.sin(angle / 2) ** 2 - gamma * sineGap(angle);
    return ((D * norm * norm) / 2) * (alpha * (target - size) ** 2 + 2 * target * size * gap);
  }

  function step(settings, c1, delta, stepSize) {
    const { D, K, slope, norm } = settings;
    const { alpha, gamma } = constants(settings);
    const { p, q, n, theta } = geometry(settings, delta);
    const angle = c1 < 0 ? Math.PI - theta : theta;
    const pull = c1 === 0 ? ((1 + slope) / 2) * p : (Math.sign(c1) * n * kernel(settings, angle)) / Math.sqrt(K);
    const bent = (gamma * Math.abs(c1) * Math.sin(angle)) / (n * Math.sqrt(K));
    const bracket = (c1 * (alpha - gamma * angle)) / K - (alpha * c1 * c1 - bent) * (-p * Math.expm1(-delta));
    return [c1 + stepSize * D * (pull - alpha * c1 * n * n), delta + stepSize * norm * norm * p * q * bracket];
  }

  // Steps at which a run is recorded: 0, 1 and on, evenly spaced in their logarithm.
  function record(steps, count) {
    const list = [0];
    for (let i = 0; i < count; i++) {
      const next = Math.round(Math.exp((Math.log(steps) * i) / (count - 1)));
      if (next > list[list.length - 1]) list.push(next);
    }
    return list;
  }

  // {steps, c1, delta, excess}, arrays; ends early where descent has broken and numbers have left every bound.
  function run(settings, stepSize, steps, count = 240) {
    const path = { steps: [], c1: [], delta: [], excess: [] };
    let [c1, delta, done] = [0, 0, 0];
    for (const next of record(steps, count)) {
      for (; done < next && Math.abs(c1) < 1e6; done++) [c1, delta] = step(settings, c1, delta, stepSize);
      if (!(Math.abs(c1) < 1e6)) break;
      path.steps.push(next);
      path.c1.push(c1);
      path.delta.push(delta);
      path.excess.push(excess(settings, c1, delta));
    }
    return path;
  }

  return { constants, excess, geometry, kernel, record, run, step };
})();
