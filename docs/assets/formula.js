/* Formulas over named sizes, as tsformers.reading.arithmetic computes them: no eval, no name outside the sizes.
   Python's int is BigInt here and its float Number, so that // and % and the difference of 2 and 2.0 are Python's. */
"use strict";

const Formula = (() => {
  class FormulaError extends Error {}

  const TOKEN = /\s*(?:(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)|([A-Za-z_]\w*)|(\*\*|\/\/|[<>=!]=|[-+*/%<>(),]))/y;
  const WORDS = new Set(["and", "or", "not", "if", "else", "True", "False"]);
  const LARGEST_POWER = 64;

  const integer = (value) => (typeof value === "boolean" ? BigInt(value) : value);
  const isInteger = (value) => typeof value !== "number";
  const number = (value) => Number(value);
  const fail = (message) => { throw new FormulaError(message); };

  function tokens(text) {
    const found = [];
    TOKEN.lastIndex = 0;
    const end = text.trimEnd().length;
    while (TOKEN.lastIndex < end) {
      const match = TOKEN.exec(text);
      if (match === null) fail(`公式 ${text} 不是表达式`);
      const [, digits, name, sign] = match;
      if (digits) found.push({ kind: "number", text: digits });
      else if (name) found.push({ kind: WORDS.has(name) ? name : "name", text: name });
      else found.push({ kind: sign, text: sign });
    }
    return found;
  }

  /* A small descent, one function a level of Python's precedence; each returns a function of the sizes. */
  function parse(text) {
    const list = tokens(text);
    let at = 0;
    const next = () => (at < list.length ? list[at].kind : "end");
    const take = (...kinds) => (kinds.includes(next()) ? list[at++] : null);
    const need = (kind) => take(kind) ?? fail(`公式 ${text} 不是表达式`);

    function choice() {
      const body = either();
      if (!take("if")) return body;
      const test = either();
      need("else");
      const other = choice();
      return (sizes) => (truth(test(sizes)) ? body(sizes) : other(sizes));
    }

    function either() {
      const parts = [both()];
      while (take("or")) parts.push(both());
      return parts.length === 1 ? parts[0] : (sizes) => parts.some((part) => truth(part(sizes)));
    }

    function both() {
      const parts = [negated()];
      while (take("and")) parts.push(negated());
      return parts.length === 1 ? parts[0] : (sizes) => parts.every((part) => truth(part(sizes)));
    }

    function negated() {
      if (!take("not")) return compared();
      const inner = negated();
      return (sizes) => !truth(inner(sizes));
    }

    function compared() {
      const parts = [sum()];
      const signs = [];
      for (let sign; (sign = take("==", "!=", "<", "<=", ">", ">=")); ) {
        signs.push(sign.text);
        parts.push(sum());
      }
      if (!signs.length) return parts[0];
      return (sizes) => {
        const values = parts.map((part) => part(sizes));
        return signs.every((sign, k) => compare(sign, values[k], values[k + 1]));
      };
    }

    function chain(inner, ...kinds) {
      let left = inner();
      for (let sign; (sign = take(...kinds)); ) {
        const [first, second, name] = [left, inner(), sign.text];
        left = (sizes) => binary(name, integer(first(sizes)), integer(second(sizes)), text);
      }
      return left;
    }

    const sum = () => chain(product, "+", "-");
    const product = () => chain(signed, "*", "/", "//", "%");

    function signed() {
      const sign = take("-", "+");
      if (!sign) return power();
      const inner = signed();
      return (sizes) => (sign.text === "-" ? -integer(inner(sizes)) : integer(inner(sizes)));
    }

    function power() {
      const base = atom();
      if (!take("**")) return base;
      const exponent = signed();
      return (sizes) => raised(integer(base(sizes)), integer(exponent(sizes)), text);
    }

    function atom() {
      if (take("(")) {
        const inner = choice();
        need(")");
        return inner;
      }
      if (take("True")) return () => true;
      if (take("False")) return () => false;
      const digits = take("number");
      if (digits) {
        if (/^0\d*[1-9]/.test(digits.text) && /^\d+$/.test(digits.text)) fail(`公式 ${text} 不是表达式`);
        const value = /^\d+$/.test(digits.text) ? BigInt(digits.text) : parseFloat(digits.text);
        return () => value;
      }
      const name = need("name").text;
      if (!take("(")) return (sizes) => (Object.hasOwn(sizes, name) ? sizes[name] : fail(`没有轴名 ${name}`));
      const parts = [choice()];
      while (take(",")) {
        if (next() === ")") break;
        parts.push(choice());
      }
      need(")");
      return (sizes) => called(name, parts.map((part) => part(sizes)), text);
    }

    const whole = choice();
    if (at !== list.length) fail(`公式 ${text} 不是表达式`);
    return whole;
  }

  const truth = (value) => Boolean(value);

  const COMPARE = {
    "==": (a, b) => a === b,
    "!=": (a, b) => a !== b,
    "<": (a, b) => a < b,
    "<=": (a, b) => a <= b,
    ">": (a, b) => a > b,
    ">=": (a, b) => a >= b,
  };

  /* Two integers as they are, a mixed pair as floats. */
  function compare(sign, left, right) {
    const [a, b] = [integer(left), integer(right)];
    return isInteger(a) && isInteger(b) ? COMPARE[sign](a, b) : COMPARE[sign](number(a), number(b));
  }

  function binary(sign, a, b, text) {
    if (["/", "//", "%"].includes(sign) && number(b) === 0) fail(`公式 ${text} 除以了 0`);
    if (sign === "/") return number(a) / number(b);
    if (isInteger(a) && isInteger(b)) {
      if (sign === "+") return a + b;
      if (sign === "-") return a - b;
      if (sign === "*") return a * b;
      const rest = ((a % b) + b) % b;
      return sign === "%" ? rest : (a - rest) / b;
    }
    const [x, y] = [number(a), number(b)];
    if (sign === "+") return x + y;
    if (sign === "-") return x - y;
    if (sign === "*") return x * y;
    let rest = x % y;
    let quotient = (x - rest) / y;
    if (rest && y < 0 !== rest < 0) {
      rest += y;
      quotient -= 1;
    }
    return sign === "%" ? rest : Math.floor(quotient) + (quotient - Math.floor(quotient) > 0.5 ? 1 : 0);
  }

  function raised(base, exponent, text) {
    if (Math.abs(number(exponent)) > LARGEST_POWER || Math.abs(number(base)) > 1e9) fail(`公式 ${text} 的乘方太大`);
    if (isInteger(base) && isInteger(exponent) && exponent >= 0n) return base ** exponent;
    const [x, y] = [number(base), number(exponent)];
    if (x === 0 && y < 0) fail(`公式 ${text} 除以了 0`);
    const value = x ** y;
    return Number.isFinite(value) ? value : fail(`公式 ${text} 算不出来`);
  }

  function rounded(value, text) {
    return Number.isFinite(value) ? BigInt(value) : fail(`公式 ${text} 算不出来`);
  }

  function halfEven(value) {
    const low = Math.floor(value);
    const over = value - low;
    return over < 0.5 || (over === 0.5 && low % 2 === 0) ? low : low + 1;
  }

  const ROUNDING = { int: Math.trunc, round: halfEven, ceil: Math.ceil, floor: Math.floor };

  /* `min`, `max`, and functions of one value; `round` to decimals and `log` to a base are not needed here. */
  function called(name, values, text) {
    const [value] = values;
    if (name === "min" || name === "max") {
      if (values.length < 2) fail(`公式 ${text} 算不出来`);
      const sign = name === "min" ? "<" : ">";
      return values.reduce((best, other) => (compare(sign, other, best) ? other : best));
    }
    if (values.length !== 1) fail(`公式 ${text} 算不出来`);
    const exact = integer(value);
    if (Object.hasOwn(ROUNDING, name)) return isInteger(exact) ? exact : rounded(ROUNDING[name](exact), text);
    if (name === "abs") return exact < 0 ? -exact : exact;
    if (name === "sqrt" && number(exact) >= 0) return Math.sqrt(number(exact));
    if (name === "log" && number(exact) > 0) return Math.log(number(exact));
    return fail(`公式 ${text} 算不出来`);
  }

  const parsed = new Map();

  /* The value of a formula: a BigInt, a Number or a boolean. `sizes` maps names to BigInts. */
  function evaluate(text, sizes) {
    if (!parsed.has(text)) parsed.set(text, parse(text));
    return parsed.get(text)(sizes);
  }

  /* The sizes with every axis computed by its formula; a size that has the name of an axis is what the axis reads. */
  function withAxes(sizes, axes) {
    const known = { ...sizes };
    const open = new Set();
    const axis = (name) => {
      open.add(name);
      const read = {};
      for (const other of names(axes[name]))
        if (Object.hasOwn(axes, other) && !open.has(other)) read[other] = axis(other);
      const value = evaluate(axes[name], { ...sizes, ...read });
      open.delete(name);
      return typeof value === "bigint" ? value : fail(`${axes[name]} 的值 ${value} 不是整数`);
    };
    for (const name of Object.keys(axes)) known[name] = axis(name);
    return known;
  }

  const names = (text) => tokens(text).filter((token) => token.kind === "name").map((token) => token.text);

  return { evaluate, withAxes, FormulaError };
})();
