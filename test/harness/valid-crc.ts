/** Whether a batch's stored CRC-32C matches its bytes, as a broker checks it. */
import { crc32c } from '@node-rs/crc32'

/** Where the checksum is, and what it covers: from here to the batch's end (KIP-98). */
const CRC = 17
const ATTRIBUTES = 21

export const hasValidCrc = (batch: Buffer): boolean => crc32c(batch.subarray(ATTRIBUTES)) === batch.readUInt32BE(CRC)
