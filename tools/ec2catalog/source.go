package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// dataModule is the module that carries the data set.
const dataModule = "github.com/LeanerCloud/ec2-instances-info"

// source is the data set as go.mod pins it.
type source struct {
	path    string // module path that the data really comes from
	version string
	date    string // day of the version, YYYY-MM-DD
	dir     string // unpacked module
}

// openSource finds the pinned module with the go command. If it is not in the module cache, it is downloaded first:
// no package imports the module, so no build does.
func openSource() (source, error) {
	if out, err := exec.Command("go", "mod", "download", dataModule).CombinedOutput(); err != nil {
		return source{}, fmt.Errorf("downloading module %s: %w: %s", dataModule, err, out)
	}
	type module struct {
		Path, Version, Dir string
		Replace            *module
	}
	out, err := exec.Command("go", "list", "-m", "-json", dataModule).Output()
	if err != nil {
		return source{}, fmt.Errorf("locating module %s: %w", dataModule, err)
	}
	var m module
	if err := json.Unmarshal(out, &m); err != nil {
		return source{}, fmt.Errorf("locating module %s: %w", dataModule, err)
	}
	if m.Replace != nil {
		m = *m.Replace
	}
	if m.Dir == "" {
		return source{}, fmt.Errorf("module %s@%s is not downloaded: run go mod download", m.Path, m.Version)
	}
	date, err := versionDate(m.Version)
	return source{path: m.Path, version: m.Version, date: date, dir: m.Dir}, err
}

// versionDate is the day in a pseudo-version such as v0.0.0-20250528091325-32acf84f42eb.
func versionDate(version string) (string, error) {
	parts := strings.Split(version, "-")
	if len(parts) != 3 {
		return "", fmt.Errorf("version %q has no date", version)
	}
	t, err := time.Parse("20060102150405", parts[1])
	if err != nil {
		return "", fmt.Errorf("version %q has no date: %w", version, err)
	}
	return t.Format(time.DateOnly), nil
}

// instance is what we use of one entry of the data set.
type instance struct {
	Type     string   `json:"instance_type"`
	Arch     []string `json:"arch"`
	VCPU     int64    `json:"vCPU"`
	Memory   float64  `json:"memory"` // GiB
	GPU      int64    `json:"GPU"`
	GPUModel string   `json:"GPU_model"`
	VPC      *struct {
		IPsPerENI int64 `json:"ips_per_eni"`
		MaxENIs   int64 `json:"max_enis"`
	} `json:"vpc"`
	NetworkPerformance string `json:"network_performance"`
	// Processor is the name of the CPU, and Clock its speed, as "3.1 GHz".
	Processor string  `json:"physical_processor"`
	Clock     string  `json:"clock_speed_ghz"`
	EBSMax    float64 `json:"ebs_max_bandwidth"` // Mbps
	GPUMemory float64 `json:"GPU_memory"`        // GiB of all together
	Storage   *struct {
		Devices float64 `json:"devices"`
		Size    float64 `json:"size"` // of one device
		Unit    string  `json:"size_unit"`
		NVMe    bool    `json:"nvme_ssd"`
	} `json:"storage"`
	// Zones are zone ids such as use1-az4, by region.
	Zones   map[string][]string    `json:"availability_zones"`
	Pricing map[string]systemPrice `json:"pricing"`
}

type systemPrice struct {
	Linux *struct {
		OnDemand float64 `json:"ondemand,string"`
		SpotAvg  float64 `json:"spot_avg,string"`
	} `json:"linux"`
}

// read decodes the whole data set.
func (s source) read() ([]instance, error) {
	path := filepath.Join(s.dir, "data", "instances.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the data set: %w", err)
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", path, err)
	}
	if len(raw) == 0 {
		return nil, errors.New("the data set is empty")
	}
	out := make([]instance, len(raw))
	for i, entry := range raw {
		if err := json.Unmarshal(entry, &out[i]); err != nil {
			return nil, fmt.Errorf("decoding %s, entry %d (%s): %w", path, i, out[i].Type, err)
		}
	}
	return out, nil
}
