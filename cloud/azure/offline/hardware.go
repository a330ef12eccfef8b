package offline

import (
	_ "embed" // for the table
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hardwareText is a table of the hardware of sizes; its first lines describe the format.
//
//go:generate go run -C ../../../tools/ec2catalog . -azure-hardware ../../cloud/azure/offline/hardware.txt
//go:embed hardware.txt
var hardwareText string

// table is the parsed table.
type table struct {
	// date is the day of the data, as year-month-day.
	date string
	// zonal are the locations with zones.
	zonal []string
	sizes []hardware
}

// hardware is what the table says about a size.
type hardware struct {
	// name is that of the size, without the tier.
	name         string
	vCPUs, gpus  int64
	memoryGiB    float64
	temporaryGiB int64
	described    bool // whether the table has what follows
	architecture string
	hyperV       string // generations, as V1,V2
	features     []string
	cacheGiB     int64
}

// Features of the table.
const (
	featureNetworking      = "accelerated-networking"
	featurePremium         = "premium-io"
	featureEncryption      = "encryption-at-host"
	featureUltraSSD        = "ultra-ssd"
	featureSpot            = "spot"
	featureNoTrustedLaunch = "no-trusted-launch"
)

func (h *hardware) has(feature string) bool { return slices.Contains(h.features, feature) }

// unknown stands for what the source of the table does not have.
const unknown = "-"

// parseTable reads the table.
func parseTable(text string) (table, error) {
	var out table
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "#" || fields[0] == "source":
		case fields[0] == "date" && len(fields) == 2:
			out.date = fields[1]
		case fields[0] == "zonal":
			out.zonal = fields[1:]
		default:
			size, err := parseSize(fields)
			if err != nil {
				return table{}, fmt.Errorf("line %q: %w", strings.TrimSpace(line), err)
			}
			out.sizes = append(out.sizes, size)
		}
	}
	return out, nil
}

// parseSize reads a name, vCPUs, memory, architecture, generations of Hyper-V, features, cache, temporary disk and GPUs.
func parseSize(fields []string) (hardware, error) {
	if len(fields) != 9 {
		return hardware{}, fmt.Errorf("has %d fields, want 9", len(fields))
	}
	out := hardware{name: fields[0], described: fields[3] != unknown}
	for at, to := range map[int]*int64{1: &out.vCPUs, 6: &out.cacheGiB, 7: &out.temporaryGiB, 8: &out.gpus} {
		if fields[at] == unknown {
			continue
		}
		n, err := strconv.ParseInt(fields[at], 10, 64)
		if err != nil {
			return hardware{}, fmt.Errorf("%q is no number", fields[at])
		}
		*to = n
	}
	var err error
	if out.memoryGiB, err = strconv.ParseFloat(fields[2], 64); err != nil {
		return hardware{}, fmt.Errorf("%q is no number", fields[2])
	}
	if (fields[4] == unknown) == out.described || (fields[5] == unknown) == out.described {
		return hardware{}, fmt.Errorf("has only a part of architecture, generations and features")
	}
	if out.described {
		out.architecture, out.hyperV, out.features = fields[3], fields[4], strings.Split(fields[5], ",")
	}
	return out, nil
}
