package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"os"
	"time"

	"github.com/hamba/avro/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sr"
)

type Instrument struct {
	ID int64 `avro:"id"`
	// A *big.Rat with every digit, or nil. (Not declared as one: hamba/avro 2.31 cannot fill an optional one.)
	IssuePrice any `avro:"issuePrice"`
}

func main() {
	brokers, registryURL, topic := os.Args[1], os.Args[2], os.Args[3]
	registry := must(sr.NewClient(sr.URLs(registryURL)))
	client := must(kgo.NewClient(
		kgo.SeedBrokers(brokers),
		kgo.ConsumeTopics(topic),
		kgo.ConsumerGroup(topic+"-go"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	))
	defer client.Close()
	schemas := map[int]avro.Schema{}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		fetches := client.PollFetches(ctx)
		cancel()
		if fetches.NumRecords() == 0 { // nothing new for 10 s
			return
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if record.Value == nil {
				fmt.Println(string(record.Key), "None") // the instrument is gone
				return
			}
			id := int(binary.BigEndian.Uint32(record.Value[1:5]))
			if schemas[id] == nil {
				schemas[id] = avro.MustParse(must(registry.SchemaByID(context.Background(), id)).Schema)
			}
			var instrument Instrument
			if err := avro.Unmarshal(schemas[id], record.Value[5:], &instrument); err != nil {
				panic(err)
			}
			price := "None"
			if exact, ok := instrument.IssuePrice.(*big.Rat); ok {
				price = exact.FloatString(18)
			}
			fmt.Println(string(record.Key), price)
		})
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
