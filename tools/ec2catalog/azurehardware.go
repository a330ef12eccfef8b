package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// writeAzureHardware writes the hardware of the sizes of Azure that nodes can have.
func writeAzureHardware(path string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.readAzure()
	if err != nil {
		return err
	}
	table, err := encodeAzureHardware(src, instances)
	if err != nil {
		return err
	}
	return os.WriteFile(path, table, 0o644)
}

// encodeAzureHardware writes a header with the origin of the data, the locations with zones, then one size per line, sorted by name.
func encodeAzureHardware(src source, instances []azureInstance) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("# Written by tools/ec2catalog -azure-hardware. DO NOT EDIT.\n")
	b.WriteString("# name, vCPUs, GiB of memory, architecture, generations of Hyper-V, features, GiB of the cache, GiB of the temporary disk, GPUs\n")
	b.WriteString("# - for what the source does not have; features are none if it has none of them\n")
	fmt.Fprintf(&b, "source %s %s\ndate %s\nzonal %s\n", src.path, src.version, src.date, strings.Join(zonalLocations(), " "))
	var lines []string
	last := ""
	sorted := slices.SortedStableFunc(slices.Values(instances), func(a, b azureInstance) int { return cmp.Compare(azureSKU(azureName(a)), azureSKU(azureName(b))) })
	for _, in := range sorted {
		name := azureSKU(azureName(in))
		if name == "" || !in.priced() || in.CPUs < leastCPUs || in.Memory < leastMemory || confidential(name) || retired(name) {
			continue
		}
		if name == last {
			return nil, fmt.Errorf("size %q appears twice", name)
		}
		last = name
		gpus, err := in.gpus()
		if err != nil {
			return nil, fmt.Errorf("size %q: %w", name, err)
		}
		memory := strconv.FormatFloat(in.Memory, 'f', -1, 64)
		lines = append(lines, strings.Join([]string{
			name, strconv.FormatInt(in.CPUs, 10), memory, cmp.Or(strings.Join(in.Arch, ","), "-"), cmp.Or(in.HyperV, "-"), in.features(),
			gibibytes(in.Cache), gibibytes(in.TemporaryDisk), strconv.FormatInt(gpus, 10),
		}, " "))
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no size can be a node")
	}
	b.WriteString(strings.Join(lines, "\n") + "\n")
	return b.Bytes(), nil
}

// priced reports whether the size has a price anywhere.
func (in azureInstance) priced() bool {
	for _, p := range in.Pricing {
		if p.Linux != nil && p.Linux.OnDemand > 0 {
			return true
		}
	}
	return false
}

// features are what the data set says that virtual machines can use; a dash if it does not say. It does for all of them or for none.
func (in azureInstance) features() string {
	if len(in.Arch) == 0 {
		return "-"
	}
	var out []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"accelerated-networking", in.Networking},
		{"premium-io", in.PremiumIO},
		{"encryption-at-host", in.Encryption},
		{"ultra-ssd", in.UltraSSD},
		{"spot", in.Spot != nil && *in.Spot},
		{"no-trusted-launch", in.NoTrustedLaunch},
	} {
		if f.has {
			out = append(out, f.name)
		}
	}
	return cmp.Or(strings.Join(out, ","), "none")
}

// gibibytes is a size, or a dash if it is not known.
func gibibytes(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}
