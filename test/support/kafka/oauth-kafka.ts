import type { TestContext } from 'node:test';
import { freePorts } from '../../../src/dev/local-stack/free-ports.ts';
import type { Simulator } from '../../../src/dev/simulator/simulator.ts';
import { PATIENT_BROKER } from './patient-broker.ts';
import { ownKafkaOrSkip } from './stack.ts';

export const AUDIENCE = 'kafka';
/** The longest session of a login at the listener SHORT: kafkajs itself cannot live with 10 s or less. */
const SESSION_MS = 4_000;

export type OauthKafka = NonNullable<Awaited<ReturnType<typeof oauthKafkaOrSkip>>>;

/**
 * A broker that verifies the simulator's tokens by their signature, issuer, audience and expiry; host:port of two listeners:
 * with sessions as long as the token, and of 4 s at most.
 */
export async function oauthKafkaOrSkip(t: TestContext, simulator: Simulator) {
  const [login, short] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
  const keysUrl = `${simulator.controlUrl}tokens/keys`;
  const own = [`LOGIN://${login}`, `SHORT://${short}`];
  const perListener = ['login', 'short'].flatMap((name): [string, string][] => {
    const prefix = `listener.name.${name}`;
    const mechanism = `${prefix}.oauthbearer`;
    return [
      [`${prefix}.sasl.enabled.mechanisms`, 'OAUTHBEARER'],
      [
        `${mechanism}.sasl.server.callback.handler.class`,
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler',
      ],
      [
        `${mechanism}.sasl.jaas.config`,
        'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="x";',
      ],
      ...(name === 'short' ? [[`${mechanism}.connections.max.reauth.ms`, String(SESSION_MS)] as [string, string]] : []),
    ];
  });
  const kafka = await ownKafkaOrSkip(t, {
    javaFlags: [`-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=${keysUrl}`],
    settings: ({ listener, controller }) => ({
      ...PATIENT_BROKER,
      listeners: [`PLAINTEXT://${listener}`, `CONTROLLER://${controller}`, ...own].join(','),
      'advertised.listeners': [`PLAINTEXT://${listener}`, ...own].join(','),
      'listener.security.protocol.map':
        'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOGIN:SASL_PLAINTEXT,SHORT:SASL_PLAINTEXT',
      'sasl.oauthbearer.jwks.endpoint.url': keysUrl,
      'sasl.oauthbearer.expected.audience': AUDIENCE,
      'sasl.oauthbearer.expected.issuer': 'https://simulator.example',
      'sasl.oauthbearer.clock.skew.seconds': '1',
      ...Object.fromEntries(perListener),
    }),
  });
  return kafka && { login, short };
}
