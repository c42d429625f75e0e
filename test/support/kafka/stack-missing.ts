/** The environment variable in which the runner reports to the tests why there is no stack. */
export const STACK_MISSING = 'SPC_TEST_STACK_MISSING';
