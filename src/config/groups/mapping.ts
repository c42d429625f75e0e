import { decimal, group, oneOf, setting } from '../setting.ts';

export const mappingSettings = group({
  onMismatch: setting(
    oneOf(['deadLetter', 'keepInExtras']),
    'What happens to a record with a known field of the wrong type: deadLetter, or keepInExtras (null and the text).',
    'deadLetter',
  ),
  maxDeadLetters: setting(
    decimal(0, 1),
    'The share of one response, or of the last 1,000 rows, that may be dead letters (20 always may) before the source stops.',
    0.05,
  ),
});
