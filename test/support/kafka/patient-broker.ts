import type { BrokerSettings } from '../../../src/dev/local-stack/broker-settings.ts';

/**
 * Of brokers that no test kills. The quick settings let a broker be missed after three seconds, so that one that was
 * killed is back soon; a busy machine holds up a live one for longer, which would then lead nothing for a while.
 */
export const PATIENT_BROKER: BrokerSettings = { 'broker.session.timeout.ms': '300000' };
