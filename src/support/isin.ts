const ISIN = /^[A-Z]{2}[A-Z0-9]{9}[0-9]$/;

/** True for an ISIN by its form and its check digit (ISO 6166). The interface does not define the form. */
export function isIsin(text: string): boolean {
  if (!ISIN.test(text)) return false;
  const digits = [...text].map((char) => Number.parseInt(char, 36)).join('');
  let sum = 0;
  for (let at = digits.length - 1, isDoubled = false; at >= 0; at--, isDoubled = !isDoubled) {
    const digit = Number(digits[at]) * (isDoubled ? 2 : 1);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}
