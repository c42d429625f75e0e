/** A Kafka and a registry of which no port answers. */
export const NOWHERE = { brokers: ['127.0.0.1:1'], registryUrl: 'http://127.0.0.1:1' };

/** A provider of which no port answers. */
export const NO_PROVIDER = {
  referenceDataUrl: 'http://127.0.0.1:1/r',
  tokenUrl: 'http://127.0.0.1:1/t',
  clientId: 'c',
  clientSecret: 'secret-of-c',
};
