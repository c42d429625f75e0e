import type { FastifyReply, FastifyRequest } from 'fastify';
import { ConnectorError } from '../errors.ts';

/** An error that the client gets as HTTP status and message. The message has the words of Kafka Connect, if any. */
export class RestError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, message: string) {
    super(message);
    this.name = 'RestError';
    this.statusCode = statusCode;
  }
}

/** Sends any error in Kafka Connect's form: `{"error_code":404,"message":"…"}`. */
export function sendError(error: Error & Partial<RestError>, _request: FastifyRequest, reply: FastifyReply): void {
  const { statusCode = 500, message } = error;
  // The message of an unexpected error may quote secrets.
  const shown = statusCode === 500 ? 'Internal Server Error' : message;
  const text = error instanceof ConnectorError ? `${error.code}: ${message}` : shown;
  reply.code(statusCode).send({ error_code: statusCode, message: text });
}

export function sendNotFound(_request: FastifyRequest, reply: FastifyReply): void {
  reply.code(404).send({ error_code: 404, message: 'HTTP 404 Not Found' });
}
