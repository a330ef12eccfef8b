package family

// Gallery is where AKS publishes images.
type Gallery struct {
	// Name and ResourceGroup are those of the shared image gallery (SIG).
	Name, ResourceGroup string
	// PublicName is that of the community image gallery (CIG), which needs no permission.
	PublicName string
}

// Gallery returns where images of the family are published.
func (f Family) Gallery() Gallery {
	if f == AzureLinux2 || f == AzureLinux3 {
		return Gallery{Name: "AKSAzureLinux", ResourceGroup: "AKS-AzureLinux", PublicName: "AKSAzureLinux-f7c7cda5-1c9a-4bdc-a222-9614c968580b"}
	}
	return Gallery{Name: "AKSUbuntu", ResourceGroup: "AKS-Ubuntu", PublicName: "AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2"}
}

// Definition is an image in a gallery, of which there are versions.
type Definition struct {
	// Name is that of the definition in its gallery.
	Name string
	// Arch is a value of kubernetes.io/arch, HyperVGeneration one of karpenter.azure.com/sku-hyperv-generation: what an instance type has
	// to have for the image.
	Arch, HyperVGeneration string
	// Distro is the name that the node bootstrapping service has for the image.
	Distro string
}

// Values of Definition.
const (
	amd64 = "amd64"
	arm64 = "arm64"
	gen1  = "1"
	gen2  = "2"
)

// variant is what an image is made for.
type variant struct{ fips, trustedLaunch bool }

// definitions returns all images that AKS publishes, by family and variant, the most preferred first.
func definitions() map[Family]map[variant][]Definition {
	plain, fips := variant{}, variant{fips: true}
	trusted, trustedFIPS := variant{trustedLaunch: true}, variant{fips: true, trustedLaunch: true}
	return map[Family]map[variant][]Definition{
		Ubuntu2004: {
			fips: {
				{"2004gen2fipscontainerd", amd64, gen2, "aks-ubuntu-fips-containerd-20.04-gen2"},
				{"2004fipscontainerd", amd64, gen1, "aks-ubuntu-fips-containerd-20.04"},
			},
		},
		Ubuntu2204: {
			plain: {
				{"2204gen2containerd", amd64, gen2, "aks-ubuntu-containerd-22.04-gen2"},
				{"2204containerd", amd64, gen1, "aks-ubuntu-containerd-22.04"},
				{"2204gen2arm64containerd", arm64, gen2, "aks-ubuntu-arm64-containerd-22.04-gen2"},
			},
			trusted:     {{"2204gen2TLcontainerd", amd64, gen2, "aks-ubuntu-containerd-22.04-tl-gen2"}},
			trustedFIPS: {{"2204gen2fipsTLcontainerd", amd64, gen2, "aks-ubuntu-fips-containerd-22.04-tl-gen2"}},
		},
		Ubuntu2404: {
			plain: {
				{"2404gen2containerd", amd64, gen2, "aks-ubuntu-containerd-24.04-gen2"},
				{"2404containerd", amd64, gen1, "aks-ubuntu-containerd-24.04"},
				{"2404gen2arm64containerd", arm64, gen2, "aks-ubuntu-arm64-containerd-24.04-gen2"},
			},
			trusted: {{"2404gen2TLcontainerd", amd64, gen2, "aks-ubuntu-containerd-24.04-tl-gen2"}},
		},
		AzureLinux2: {
			plain: {
				{"V2gen2", amd64, gen2, "aks-azurelinux-v2-gen2"},
				{"V2", amd64, gen1, "aks-azurelinux-v2"},
				{"V2gen2arm64", arm64, gen2, "aks-azurelinux-v2-arm64-gen2"},
			},
			trusted: {{"V2gen2TL", amd64, gen2, "aks-azurelinux-v2-gen2-tl"}},
			fips: {
				{"V2gen2fips", amd64, gen2, "aks-azurelinux-v2-gen2-fips"},
				{"V2fips", amd64, gen1, "aks-azurelinux-v2-fips"},
			},
		},
		AzureLinux3: {
			plain: {
				{"V3gen2", amd64, gen2, "aks-azurelinux-v3-gen2"},
				{"V3", amd64, gen1, "aks-azurelinux-v3"},
				{"V3gen2arm64", arm64, gen2, "aks-azurelinux-v3-arm64-gen2"},
			},
			trusted: {{"V3gen2TL", amd64, gen2, "aks-azurelinux-v3-gen2-tl"}},
			fips: {
				{"V3gen2fips", amd64, gen2, "aks-azurelinux-v3-gen2-fips"},
				{"V3fips", amd64, gen1, "aks-azurelinux-v3-fips"},
				{"V3gen2arm64fips", arm64, gen2, "aks-azurelinux-v3-arm64-gen2-fips"},
			},
		},
	}
}

// Definitions returns the images of the family, the most preferred first. Those that comply with FIPS exist only in shared galleries; shared
// says whether the controller uses these. The result is empty if AKS publishes no image for the combination. The caller owns the result.
func (f Family) Definitions(complyWithFIPS, trustedLaunch, shared bool) []Definition {
	if complyWithFIPS && !shared {
		return nil
	}
	return definitions()[f][variant{complyWithFIPS, trustedLaunch}]
}

// Distro returns the name that the node bootstrapping service has for a definition. It is false if there is no such definition.
func Distro(definition string) (string, bool) {
	for _, variants := range definitions() {
		for _, list := range variants {
			for _, d := range list {
				if d.Name == definition {
					return d.Distro, true
				}
			}
		}
	}
	return "", false
}
