package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const committedPrices = "../../cloud/aws/price/table.txt"

// The committed prices are what the pinned source gives, byte for byte.
func TestCommittedPricesAreFresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.txt")
	if err := writePrices(path); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(committedPrices)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the generator writes: run go generate ./cloud/aws/price", committedPrices)
	}
}

func TestPricesOfWholeRegions(t *testing.T) {
	src := source{path: "p", version: "v", date: "2025-05-28"}
	got, err := encodePrices(src, []instance{
		sample(t, `{"instance_type":"z.one","pricing":{"us-gov-west-1":{"linux":{"ondemand":"2","spot_avg":"0"}},"us-east-1":{"linux":{"ondemand":"0","spot_avg":"0"}}}}`),
		sample(t, `{"instance_type":"a.one","pricing":{"us-east-1":{"linux":{"ondemand":"0.0123","spot_avg":"0"}},"us-east-1-bos-1":{"linux":{"ondemand":"9","spot_avg":"0"}}}}`),
		sample(t, `{"instance_type":"nowhere","pricing":{"us-east-1":{}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, lines, _ := bytes.Cut(got, []byte("offered.\n"))
	want := "source,p v\ndate,2025-05-28\nregions,us-east-1,us-gov-west-1\na.one,0.0123\nz.one,,2\n"
	if string(lines) != want {
		t.Errorf("got\n%s\nwant\n%s", lines, want)
	}
	if _, err := encodePrices(src, nil); err == nil {
		t.Error("a source without prices is accepted")
	}
}
