// A thin program, as somebody would write it for this one job: reads a topic exactly once, keeps half of the records, changes one field.
// Arguments: brokers, input topic, output topic, name (of the group and the transactional id). Runs until it is killed.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"log"
	"os"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

type purchase struct {
	ID     int64   `json:"id"`
	User   string  `json:"user"`
	Amount float64 `json:"amount"`
	Text   string  `json:"text"`
	TS     string  `json:"ts"`
}

// The schema registry's prefix: a zero byte and the schema's id.
const prefixBytes = 5

func main() {
	brokers, input, output, name := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(strings.Split(brokers, ",")...),
		kgo.ConsumerGroup(name),
		kgo.ConsumeTopics(input),
		kgo.TransactionalID(name),
		kgo.DefaultProduceTopic(output),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.MaxBufferedRecords(200_000),
	)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for {
		fetches := session.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatal(err)
		}
		if err := session.Begin(); err != nil {
			log.Fatal(err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			var value purchase
			if err := json.Unmarshal(record.Value[prefixBytes:], &value); err != nil {
				log.Fatal(err)
			}
			if value.Amount < 50 {
				return
			}
			value.Text = strings.ToUpper(value.Text)
			body, err := json.Marshal(value)
			if err != nil {
				log.Fatal(err)
			}
			framed := make([]byte, 0, prefixBytes+len(body))
			framed = append(framed, 0)
			framed = binary.BigEndian.AppendUint32(framed, 7)
			framed = append(framed, body...)
			session.Produce(ctx, &kgo.Record{Key: record.Key, Value: framed, Timestamp: record.Timestamp}, func(_ *kgo.Record, err error) {
				if err != nil {
					log.Print(err)
				}
			})
		})
		if _, err := session.End(ctx, kgo.TryCommit); err != nil {
			log.Fatal(err)
		}
	}
}
