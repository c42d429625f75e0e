import { createHash } from 'node:crypto';

/** A patched function: its module inside kafkajs, and the SHA-256 of its source text in 2.2.4. */
export const PATCHED_FUNCTIONS = {
  scheduleCheckPendingRequests: {
    module: 'src/network/requestQueue/index.js',
    sourceSha256: '04347ea969c6f2e3754427c0cbaee0bd4ce947fbd82f7b6e027506a06dfc581a',
  },
  scheduleRequestTimeoutCheck: {
    module: 'src/network/requestQueue/index.js',
    sourceSha256: '4fa2b60aa0fe28a4fefc028706b8de18cdafc88916fae651d8cc5d359cc4553a',
  },
  sendSocketRequest: {
    module: 'src/network/requestQueue/index.js',
    sourceSha256: '512807ba10f008597cc500bf1255ede4cff0d6336f68dc5565d238a9c656e3ab',
  },
  decodeRecordBatch: {
    module: 'src/protocol/recordBatch/v0/decoder.js',
    sourceSha256: '77acebbb995191c1896488c8cbc61581969f98f07339dd50e8bb7c720f939f87',
  },
  decodeRecord: {
    module: 'src/protocol/recordBatch/record/v0/decoder.js',
    sourceSha256: 'fbe3525528b41bced97fb4ab8a5669fcdc18b56179a1e565690feae7b5f80ac7',
  },
  filterAbortedMessages: {
    module: 'src/consumer/filterAbortedMessages.js',
    sourceSha256: '59acdacae7d98f7fb842b22c6f6a79e459d0dd1efef9905da1c2ec459ddafdfe',
  },
  consumerGroup: {
    module: 'src/consumer/consumerGroup.js',
    sourceSha256: '5a90070d31e7e13b73623fabc1ba431a7c2a12ed86c3aabf119d3ad6c1cf4ff8',
  },
  createFetchManager: {
    module: 'src/consumer/fetchManager.js',
    sourceSha256: '64fc4b5aa6688744ba8d695d563c6a3c6043ea6036ed4188a0da3c21e9844f98',
  },
  findGroupCoordinator: {
    module: 'src/cluster/index.js',
    sourceSha256: '47e51b904f8f1f2ff1be9acb53ca9272d5f14581561d3acb815f6d9696d2cb26',
  },
  metadataProtocol: {
    module: 'src/protocol/requests/metadata/index.js',
    sourceSha256: '32529e32a3c135dfba608a4e37fd60a27a7b5d38621b1986ae571a1beb64cddc',
  },
  createSendMessages: {
    module: 'src/producer/sendMessages.js',
    sourceSha256: '3ee877abaa2b09ea8cb91be9a3673501c918985228257820669935ea74741f4d',
  },
  createProducer: {
    module: 'src/producer/index.js',
    sourceSha256: '519a9bac04d9340e4f126c83c1045819c8ff89f93f002b25206b5f66bdb38891',
  },
  createRequest: {
    module: 'src/protocol/request.js',
    sourceSha256: '989e20fd47854b087d0a699b8312176511e37cc8440b7146b34fa3d494d5a9b4',
  },
  shouldReauthenticate: {
    module: 'src/network/connection.js',
    sourceSha256: 'e8eeba7bbe686205565e4d75c2acea9e049d1bc6e0406599dbd84d592c4adfb0',
  },
  parseMetadata: {
    module: 'src/protocol/requests/metadata/v0/response.js',
    sourceSha256: 'd30641109479478c76d49af2160f44f0e01fde6f8b3fddf0af301ae1df0103e3',
  },
  parseAddPartitionsToTxn: {
    module: 'src/protocol/requests/addPartitionsToTxn/v0/response.js',
    sourceSha256: 'd697bcb5b5964edc4811547b089abc1a0fdb2554721ab0e27147a74df041c439',
  },
  parseTxnOffsetCommit: {
    module: 'src/protocol/requests/txnOffsetCommit/v0/response.js',
    sourceSha256: 'd4149159b54f158bcf25bd8ed492e50060a82a4c87a0b11925faea80fc92911c',
  },
} as const;

/** @throws Error when the function's source text is not the expected one. */
export function verifySource(name: keyof typeof PATCHED_FUNCTIONS, found: unknown): void {
  const { module, sourceSha256 } = PATCHED_FUNCTIONS[name];
  const foundSha256 = createHash('sha256').update(String(found)).digest('hex');
  if (foundSha256 === sourceSha256) return;
  throw new Error(
    `${name} in kafkajs/${module} is not the function that its patch was written for (its source has SHA-256 ` +
      `${foundSha256}, expected ${sourceSha256}). Install kafkajs 2.2.4 exactly, or review the patch in kafkajs-patches.ts.`,
  );
}
