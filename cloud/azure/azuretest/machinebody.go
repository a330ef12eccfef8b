package azuretest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// The types of the body of an AKSMachine. The SDK has no request with them. Read-only fields are accepted and ignored, as a client sends what
// it fetched.
//
// Source: Azure provider specification, launch through AKSMachines.
type (
	machineBody struct {
		ID         string            `json:"id"`
		Name       string            `json:"name"`
		Type       string            `json:"type"`
		Zones      []string          `json:"zones"`
		Properties machineProperties `json:"properties"`
	}
	machineProperties struct {
		NodeImageVersion  string            `json:"nodeImageVersion"`
		Network           *machineNetwork   `json:"network"`
		Hardware          machineHardware   `json:"hardware"`
		OperatingSystem   machineSystem     `json:"operatingSystem"`
		Kubernetes        machineKubernetes `json:"kubernetes"`
		Mode              string            `json:"mode"`
		Security          *machineSecurity  `json:"security"`
		Priority          string            `json:"priority"`
		Tags              map[string]string `json:"tags"`
		LocalDNSProfile   *machineDNS       `json:"localDNSProfile"`
		ETag              string            `json:"eTag"`
		ResourceID        string            `json:"resourceId"`
		ProvisioningState string            `json:"provisioningState"`
		Status            any               `json:"status"`
	}
	machineNetwork struct {
		VNetSubnetID string `json:"vnetSubnetID"`
	}
	machineHardware struct {
		VMSize          string `json:"vmSize"`
		UltraSSDEnabled bool   `json:"ultraSsdEnabled"`
		GPUProfile      *struct {
			Driver string `json:"driver"`
		} `json:"gpuProfile"`
	}
	machineSystem struct {
		OSType       string `json:"osType"`
		OSSKU        string `json:"osSKU"`
		OSDiskSizeGB int32  `json:"osDiskSizeGB"`
		OSDiskType   string `json:"osDiskType"`
		EnableFIPS   bool   `json:"enableFIPS"`
		LinuxProfile *struct {
			LinuxOSConfig *struct {
				SwapFileSizeMB             int32          `json:"swapFileSizeMB"`
				TransparentHugePageEnabled string         `json:"transparentHugePageEnabled"`
				TransparentHugePageDefrag  string         `json:"transparentHugePageDefrag"`
				Sysctls                    map[string]any `json:"sysctls"`
			} `json:"linuxOSConfig"`
		} `json:"linuxProfile"`
	}
	machineKubernetes struct {
		NodeLabels               map[string]string `json:"nodeLabels"`
		OrchestratorVersion      string            `json:"orchestratorVersion"`
		MaxPods                  int32             `json:"maxPods"`
		KubeletConfig            *machineKubelet   `json:"kubeletConfig"`
		NodeInitializationTaints []string          `json:"nodeInitializationTaints"`
		NodeTaints               []string          `json:"nodeTaints"`
		ArtifactStreamingProfile *struct {
			Enabled bool `json:"enabled"`
		} `json:"artifactStreamingProfile"`
	}
	machineKubelet struct {
		CPUManagerPolicy      string   `json:"cpuManagerPolicy"`
		CPUCFSQuota           bool     `json:"cpuCfsQuota"`
		CPUCFSQuotaPeriod     string   `json:"cpuCfsQuotaPeriod"`
		ImageGCHighThreshold  int32    `json:"imageGcHighThreshold"`
		ImageGCLowThreshold   int32    `json:"imageGcLowThreshold"`
		TopologyManagerPolicy string   `json:"topologyManagerPolicy"`
		AllowedUnsafeSysctls  []string `json:"allowedUnsafeSysctls"`
		ContainerLogMaxSizeMB int32    `json:"containerLogMaxSizeMB"`
		ContainerLogMaxFiles  int32    `json:"containerLogMaxFiles"`
		PodMaxPids            int32    `json:"podMaxPids"`
		FailSwapOn            bool     `json:"failSwapOn"`
	}
	machineSecurity struct {
		SSHAccess              string `json:"sshAccess"`
		EnableEncryptionAtHost bool   `json:"enableEncryptionAtHost"`
		EnableVTPM             bool   `json:"enableVTPM"`
		EnableSecureBoot       bool   `json:"enableSecureBoot"`
	}
	machineDNS struct {
		Mode             string                    `json:"mode"`
		VnetDNSOverrides map[string]machineDNSZone `json:"vnetDNSOverrides"`
		KubeDNSOverrides map[string]machineDNSZone `json:"kubeDNSOverrides"`
	}
	machineDNSZone struct {
		QueryLogging                string `json:"queryLogging"`
		Protocol                    string `json:"protocol"`
		ForwardDestination          string `json:"forwardDestination"`
		ForwardPolicy               string `json:"forwardPolicy"`
		MaxConcurrent               int32  `json:"maxConcurrent"`
		CacheDurationInSeconds      int32  `json:"cacheDurationInSeconds"`
		ServeStaleDurationInSeconds int32  `json:"serveStaleDurationInSeconds"`
		ServeStale                  string `json:"serveStale"`
	}
)

// decodeMachine reads the body of an AKSMachine, and refuses unknown fields and values.
func decodeMachine(body []byte) (map[string]any, error) {
	var m machineBody
	if err := strict(body, &m); err != nil {
		return nil, err
	}
	for _, value := range []struct {
		field, got string
		allowed    []string
	}{
		{"mode", m.Properties.Mode, []string{"System", "User"}},
		{"priority", m.Properties.Priority, []string{"", "Spot", "Regular"}},
		{"operatingSystem.osType", m.Properties.OperatingSystem.OSType, []string{"Linux"}},
		{"operatingSystem.osSKU", m.Properties.OperatingSystem.OSSKU, []string{"Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux"}},
		{"operatingSystem.osDiskType", m.Properties.OperatingSystem.OSDiskType, []string{"", "Managed", "Ephemeral"}},
	} {
		if !slices.Contains(value.allowed, value.got) {
			return nil, refuse(http.StatusBadRequest, "InvalidParameter", "The value of parameter properties.%s is invalid: '%s'. Allowed values: %s.",
				value.field, value.got, strings.Join(value.allowed, ", "))
		}
	}
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil, refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	return tree, nil
}

// strict reads JSON, and refuses unknown fields.
func strict(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return refuse(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: '%v'.", err)
	}
	return nil
}
