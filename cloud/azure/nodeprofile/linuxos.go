package nodeprofile

import (
	"fmt"

	"github.com/karpenter-anew/karpenter/api/azure/v1beta1"
)

// LinuxOS is the configuration of the operating system as AKS takes it.
type LinuxOS struct {
	SwapFileSizeMB             *int32   `json:"swapFileSizeMB,omitempty"`
	TransparentHugePageEnabled string   `json:"transparentHugePageEnabled,omitempty"`
	TransparentHugePageDefrag  string   `json:"transparentHugePageDefrag,omitempty"`
	Sysctls                    *Sysctls `json:"sysctls,omitempty"`
}

// Sysctls are the kernel settings as AKS takes them. The fields are those of the class in the same order, so that
// one converts to the other; the names on the wire differ in capitals.
type Sysctls struct {
	FsAioMaxNr                     *int32 `json:"fsAioMaxNr,omitempty"`
	FsFileMax                      *int32 `json:"fsFileMax,omitempty"`
	FsInotifyMaxUserWatches        *int32 `json:"fsInotifyMaxUserWatches,omitempty"`
	FsNrOpen                       *int32 `json:"fsNrOpen,omitempty"`
	KernelThreadsMax               *int32 `json:"kernelThreadsMax,omitempty"`
	NetCoreNetdevMaxBacklog        *int32 `json:"netCoreNetdevMaxBacklog,omitempty"`
	NetCoreOptmemMax               *int32 `json:"netCoreOptmemMax,omitempty"`
	NetCoreRmemDefault             *int32 `json:"netCoreRmemDefault,omitempty"`
	NetCoreRmemMax                 *int32 `json:"netCoreRmemMax,omitempty"`
	NetCoreSomaxconn               *int32 `json:"netCoreSomaxconn,omitempty"`
	NetCoreWmemDefault             *int32 `json:"netCoreWmemDefault,omitempty"`
	NetCoreWmemMax                 *int32 `json:"netCoreWmemMax,omitempty"`
	NetIPv4IPLocalPortRange        string `json:"netIpv4IpLocalPortRange,omitempty"`
	NetIPv4NeighDefaultGcThresh1   *int32 `json:"netIpv4NeighDefaultGcThresh1,omitempty"`
	NetIPv4NeighDefaultGcThresh2   *int32 `json:"netIpv4NeighDefaultGcThresh2,omitempty"`
	NetIPv4NeighDefaultGcThresh3   *int32 `json:"netIpv4NeighDefaultGcThresh3,omitempty"`
	NetIPv4TCPFinTimeout           *int32 `json:"netIpv4TcpFinTimeout,omitempty"`
	NetIPv4TCPKeepaliveIntvl       *int32 `json:"netIpv4TcpkeepaliveIntvl,omitempty"`
	NetIPv4TCPKeepaliveProbes      *int32 `json:"netIpv4TcpKeepaliveProbes,omitempty"`
	NetIPv4TCPKeepaliveTime        *int32 `json:"netIpv4TcpKeepaliveTime,omitempty"`
	NetIPv4TCPMaxSynBacklog        *int32 `json:"netIpv4TcpMaxSynBacklog,omitempty"`
	NetIPv4TCPMaxTwBuckets         *int32 `json:"netIpv4TcpMaxTwBuckets,omitempty"`
	NetIPv4TCPTwReuse              *bool  `json:"netIpv4TcpTwReuse,omitempty"`
	NetNetfilterNfConntrackBuckets *int32 `json:"netNetfilterNfConntrackBuckets,omitempty"`
	NetNetfilterNfConntrackMax     *int32 `json:"netNetfilterNfConntrackMax,omitempty"`
	VMMaxMapCount                  *int32 `json:"vmMaxMapCount,omitempty"`
	VMSwappiness                   *int32 `json:"vmSwappiness,omitempty"`
	VMVfsCachePressure             *int32 `json:"vmVfsCachePressure,omitempty"`
}

// LinuxOSOf returns the configuration of the operating system of a class; nil for a class without one. It fails if
// the size of the swap file is not a quantity.
func LinuxOSOf(class *v1beta1.AKSNodeClass) (*LinuxOS, error) {
	in := class.Spec.LinuxOSConfig
	if in == nil {
		return nil, nil //nolint:nilnil // a class without a configuration is valid
	}
	size, err := megabytes(in.SwapFileSize)
	if err != nil {
		return nil, fmt.Errorf("reading swapFileSize: %w", err)
	}
	return &LinuxOS{
		SwapFileSizeMB: size, TransparentHugePageEnabled: in.TransparentHugePageEnabled,
		TransparentHugePageDefrag: in.TransparentHugePageDefrag, Sysctls: (*Sysctls)(in.Sysctls),
	}, nil
}
