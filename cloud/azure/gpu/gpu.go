// Package gpu knows the sizes of virtual machines with GPUs that AKS supports: who makes the GPUs, which operating systems have drivers,
// and which driver nodes install.
//
// The facts are in two embedded files. Sizes that are not in them have no GPUs for Kubernetes, whatever Azure reports.
//
// Source: Azure provider specification, GPU SKUs.
package gpu

import (
	_ "embed" // for the tables
	"fmt"
	"slices"
	"strings"
	"sync"
)

// sizesText and driversText are the tables; their first lines describe the format.
var (
	//go:embed sizes.txt
	sizesText string
	//go:embed drivers.txt
	driversText string
)

// Manufacturers of GPUs, as in sizes.txt and as values of labels.
const (
	NVIDIA = "nvidia"
	AMD    = "amd"
)

// Operating systems, as in sizes.txt.
const (
	Ubuntu      = "ubuntu"
	AzureLinux  = "azurelinux"
	AzureLinux3 = "azurelinux3"
)

// tier starts the names of SKUs, promo ends those with promotional prices, which are the same hardware.
const (
	tier  = "standard_"
	promo = "_promo"
)

// Size is what is known about the GPUs of a size.
type Size struct {
	// Manufacturer is NVIDIA or AMD.
	Manufacturer string
	// OperatingSystems are those with a driver for the GPU. The slice is shared and must not be changed.
	OperatingSystems []string
}

// InstallsDriver reports whether nodes can install the driver when they boot: there are only drivers for GPUs of NVIDIA.
func (s Size) InstallsDriver() bool { return s.Manufacturer == NVIDIA }

// RunsOn reports whether one of some operating systems has a driver for the GPU.
func (s Size) RunsOn(systems ...string) bool {
	return slices.ContainsFunc(systems, func(system string) bool { return slices.Contains(s.OperatingSystems, system) })
}

// Driver is a driver that nodes install.
type Driver struct {
	// Kind is cuda, cuda-lts, grid or grid-v20.
	Kind string
	// Version is that of the driver, Suffix tells builds of its image apart.
	Version, Suffix string
}

// Image is the container image that the node pulls.
func (d Driver) Image() string {
	return fmt.Sprintf("mcr.microsoft.com/aks/aks-gpu-%s:%s-%s", d.Kind, d.Version, d.Suffix)
}

// GRID reports whether the driver is for GPUs that virtual machines share, or else for CUDA.
func (d Driver) GRID() bool { return strings.HasPrefix(d.Kind, "grid") }

// Of returns what is known about the GPUs of a SKU, such as Standard_NC16as_T4_v3; false if it is not a supported size with GPUs. Upper and
// lower case do not differ.
func Of(sku string) (Size, bool) {
	found, ok := tables().sizes[key(sku)]
	return found, ok
}

// DriverOf returns the driver for a SKU; false if nodes cannot install one.
func DriverOf(sku string) (Driver, bool) {
	name := key(sku)
	known, ok := tables().sizes[name]
	if !ok || !known.InstallsDriver() {
		return Driver{}, false
	}
	return tables().drivers[driverKind(name)], true
}

// driverKind names the driver for a size of NVIDIA.
func driverKind(name string) string {
	switch {
	case strings.HasPrefix(name, "nc") && !strings.Contains(name, "_v"):
		return "cuda" // the GPUs of the first generation; later drivers do not support them
	case strings.Contains(name, "_a10_"):
		return "grid" // GPUs that virtual machines share
	case strings.Contains(name, "_rtxpro6000bse_"):
		return "grid-v20"
	default:
		return "cuda-lts"
	}
}

// key is the name of a SKU as it is in the table; empty if the SKU has another tier.
func key(sku string) string {
	name, ok := strings.CutPrefix(strings.ToLower(sku), tier)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(name, promo)
}

// parsed are the tables.
type parsed struct {
	sizes   map[string]Size
	drivers map[string]Driver
}

// tables parses the embedded tables once.
var tables = sync.OnceValue(func() parsed { //nolint:gochecknoglobals // a constant, but for its type
	var out parsed
	var err error
	if out.sizes, err = parseSizes(sizesText); err == nil {
		out.drivers, err = parseDrivers(driversText)
	}
	if err != nil {
		// The tables are embedded, and tests parse them: only a broken build gets here.
		panic(fmt.Sprintf("reading the embedded tables of GPUs: %v", err))
	}
	return out
})

func parseSizes(text string) (map[string]Size, error) {
	out := map[string]Size{}
	var current Size
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			if len(fields) != 2 || fields[0] != NVIDIA && fields[0] != AMD {
				return nil, fmt.Errorf("line %q: want a manufacturer and operating systems", line)
			}
			current = Size{Manufacturer: fields[0], OperatingSystems: strings.Split(fields[1], ",")}
		case current.Manufacturer == "":
			return nil, fmt.Errorf("line %q comes before a manufacturer", line)
		default:
			for _, name := range fields {
				if _, taken := out[name]; taken {
					return nil, fmt.Errorf("size %q appears twice", name)
				}
				out[name] = current
			}
		}
	}
	return out, nil
}

func parseDrivers(text string) (map[string]Driver, error) {
	out := map[string]Driver{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#"):
		case len(fields) != 3:
			return nil, fmt.Errorf("line %q: want a kind, a version and a suffix", line)
		default:
			out[fields[0]] = Driver{Kind: fields[0], Version: fields[1], Suffix: fields[2]}
		}
	}
	return out, nil
}
