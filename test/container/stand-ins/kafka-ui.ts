import { smallServer } from './small-server.ts';

export const kafkaUi = smallServer({
  what: 'NO Kafka UI, but a server that calls the connector, the registry and the broker that its variables name',
  program: 'kafka-ui-server.ts',
  user: 100,
  port: 8080,
});
