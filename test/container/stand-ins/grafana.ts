import { smallServer } from './small-server.ts';

export const grafana = smallServer({
  what: 'NO Grafana, but a server that reads the provisioning and the dashboards where Grafana would, and asks the data source',
  program: 'grafana-server.ts',
  user: 472,
  port: 3000,
});
