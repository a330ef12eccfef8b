package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

const committedHardware = "../../cloud/aws/offline/hardware.txt"

// The committed table is what the pinned source gives, byte for byte.
func TestCommittedHardwareIsFresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hardware.txt")
	if err := writeHardware(path); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(committedHardware)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the generator writes: run go generate ./cloud/aws/offline", committedHardware)
	}
}

func TestHardware(t *testing.T) {
	gpu := instance{Type: "a", Processor: "High Frequency Intel Xeon", Clock: "2.5 GHz", EBSMax: 3500, GPU: 4, GPUMemory: 64, GPUModel: "NVIDIA T4 Tensor Core"}
	plain := instance{Type: "b", Processor: "Variable", Clock: "unknown", GPUModel: "AMD Radeon Pro V520", GPU: 1, GPUMemory: 8}
	table := map[string]limits{"a": {interfaces: 15, cards: []int64{8, 7}}}
	_, lines, _ := bytes.Cut(encodeHardware(source{}, []instance{plain, gpu}, table, fabric{"a": true}), []byte("not there\n"))
	if want := "a Intel 2500 3500 - 16384 T4 8,7 2\nb - - - - 8192 Radeon_Pro_V520 - -\n"; string(lines) != want {
		t.Errorf("got\n%s\nwant\n%s", lines, want)
	}
}
