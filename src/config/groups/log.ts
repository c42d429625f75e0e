import { group, oneOf, setting } from '../setting.ts';

export const logSettings = group({
  level: setting(
    oneOf(['debug', 'info', 'warn', 'error']),
    'debug (which also shows stacks), info, warn or error.',
    'info',
  ),
  format: setting(
    oneOf(['auto', 'text', 'json']),
    'text for people, json for programs; auto: text on a terminal, json elsewhere.',
    'auto',
  ),
});
