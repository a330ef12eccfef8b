package view_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-anew/karpenter/internal/view"
)

// BenchmarkEncodeFleet is what the console adds to a view of 5 000 nodes: JSON, compressed as fast as possible, once for each revision and shared by
// all viewers.
func BenchmarkEncodeFleet(b *testing.B) {
	fleet, err := view.New(large(b), nil, clock.RealClock{}).Fleet(b.Context(), time.Time{})
	if err != nil {
		b.Fatal(err)
	}
	var plain []byte
	var packed bytes.Buffer
	for b.Loop() {
		if plain, err = json.Marshal(fleet); err != nil {
			b.Fatal(err)
		}
		packed.Reset()
		w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.Write(plain); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(plain)), "plain-bytes")
	b.ReportMetric(float64(packed.Len()), "packed-bytes")
}
