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

// writeHardware writes the hardware of all types in the data set.
func writeHardware(path string) error {
	src, err := openSource()
	if err != nil {
		return err
	}
	instances, err := src.read()
	if err != nil {
		return err
	}
	table, err := readLimits()
	if err != nil {
		return err
	}
	adapters, err := readFabric()
	if err != nil {
		return err
	}
	return os.WriteFile(path, encodeHardware(src, instances, table, adapters), 0o644)
}

// encodeHardware writes a header with the origin of the data, then one type per line, sorted by name.
func encodeHardware(src source, instances []instance, table map[string]limits, adapters fabric) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Written by tools/ec2catalog -hardware. DO NOT EDIT.\n# Source: %s %s. Network cards: %s %s. EFA: %s %s.\n",
		src.path, src.version, limitsModule, limitsVersion, fabricModule, fabricVersion)
	b.WriteString("# name, maker of the CPU, MHz, Mbps to volumes at most, GB of built-in disks, MiB of one GPU, model of the GPU, " +
		"interfaces of each network card, EFAs, 1+ for an unknown number of them; - for what is not known or not there\n")
	for _, in := range slices.SortedFunc(slices.Values(instances), func(a, b instance) int { return strings.Compare(a.Type, b.Type) }) {
		cards := table[in.Type].cards
		fmt.Fprintf(&b, "%s %s %s %s %s %s %s %s %s\n", in.Type, maker(in.Processor), megahertz(in.Clock), number(in.EBSMax), disks(in), gpuMemory(in), gpuModel(in.GPUModel),
			interfacesByCard(cards), adapters.adapters(in.Type, len(cards)))
	}
	return b.Bytes()
}

// interfacesByCard is "8,7" for two network cards, or a dash if none is known.
func interfacesByCard(cards []int64) string {
	var out []string
	for _, n := range cards {
		out = append(out, strconv.FormatInt(n, 10))
	}
	return cmp.Or(strings.Join(out, ","), "-")
}

// number is a whole number, or a dash for none.
func number(n float64) string {
	if n < 1 {
		return "-"
	}
	return strconv.FormatFloat(n, 'f', 0, 64)
}

// maker is who made a processor, by its name.
func maker(processor string) string {
	for _, name := range []string{"Intel", "AMD", "AWS", "Apple"} {
		if strings.Contains(processor, name) {
			return name
		}
	}
	return "-"
}

// megahertz reads "3.1 GHz".
func megahertz(clock string) string {
	speed, err := strconv.ParseFloat(strings.TrimSuffix(clock, " GHz"), 64)
	if err != nil {
		return "-"
	}
	return number(speed * 1000)
}

// disks is the size of all built-in disks together. Those that are no NVMe are left out: EC2 does not say NVMe of them either.
func disks(in instance) string {
	s := in.Storage
	if s == nil || !s.NVMe || cmp.Or(s.Unit, "GB") != "GB" {
		return "-"
	}
	return number(s.Devices * s.Size)
}

// gpuMemory is the memory of one GPU, in MiB. The data set has that of all, in GiB.
func gpuMemory(in instance) string {
	if in.GPU <= 0 {
		return "-"
	}
	return number(in.GPUMemory * 1024 / float64(in.GPU))
}

// gpuModel is a model as EC2 calls it, with underscores for spaces.
func gpuModel(model string) string {
	for _, brand := range []string{"NVIDIA", "AMD", "AWS", "Habana", "Tesla", "GRID", "Tensor Core", "Core"} {
		model = strings.ReplaceAll(model, brand, "")
	}
	if words := strings.Fields(model); len(words) > 0 {
		return strings.Join(words, "_")
	}
	return "-"
}
