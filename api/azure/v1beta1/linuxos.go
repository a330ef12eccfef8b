package v1beta1

// LinuxOSConfiguration holds settings of the kernel and of memory.
type LinuxOSConfiguration struct {
	// swapFileSize is the size of the swap file. It requires kubelet.failSwapOn to be false.
	// +kubebuilder:validation:Pattern:=`^\d+(E|P|T|G|M|K|Ei|Pi|Ti|Gi|Mi|Ki)$`
	// +optional
	SwapFileSize string `json:"swapFileSize,omitempty"`
	// transparentHugePageEnabled says which memory gets huge pages.
	// +kubebuilder:validation:Enum:={always,madvise,never}
	// +optional
	TransparentHugePageEnabled string `json:"transparentHugePageEnabled,omitempty"`
	// transparentHugePageDefrag says when memory is compacted to make huge pages.
	// +kubebuilder:validation:Enum:={always,defer,"defer+madvise",madvise,never}
	// +optional
	TransparentHugePageDefrag string `json:"transparentHugePageDefrag,omitempty"`
	// sysctls are parameters of the kernel.
	// +optional
	Sysctls *SysctlConfiguration `json:"sysctls,omitempty"`
}

// SysctlConfiguration holds parameters of the kernel. An absent one keeps the value of the image.
//
// +kubebuilder:validation:XValidation:message="netCoreRmemDefault must not be greater than netCoreRmemMax",rule="!has(self.netCoreRmemDefault) || !has(self.netCoreRmemMax) || self.netCoreRmemDefault <= self.netCoreRmemMax"
// +kubebuilder:validation:XValidation:message="netCoreWmemDefault must not be greater than netCoreWmemMax",rule="!has(self.netCoreWmemDefault) || !has(self.netCoreWmemMax) || self.netCoreWmemDefault <= self.netCoreWmemMax"
// +kubebuilder:validation:XValidation:message="netIPv4NeighDefaultGcThresh1 must not be greater than netIPv4NeighDefaultGcThresh2",rule="!has(self.netIPv4NeighDefaultGcThresh1) || !has(self.netIPv4NeighDefaultGcThresh2) || self.netIPv4NeighDefaultGcThresh1 <= self.netIPv4NeighDefaultGcThresh2"
// +kubebuilder:validation:XValidation:message="netIPv4NeighDefaultGcThresh2 must not be greater than netIPv4NeighDefaultGcThresh3",rule="!has(self.netIPv4NeighDefaultGcThresh2) || !has(self.netIPv4NeighDefaultGcThresh3) || self.netIPv4NeighDefaultGcThresh2 <= self.netIPv4NeighDefaultGcThresh3"
// +kubebuilder:validation:XValidation:message="netIPv4NeighDefaultGcThresh1 must not be greater than netIPv4NeighDefaultGcThresh3",rule="!has(self.netIPv4NeighDefaultGcThresh1) || !has(self.netIPv4NeighDefaultGcThresh3) || self.netIPv4NeighDefaultGcThresh1 <= self.netIPv4NeighDefaultGcThresh3"
type SysctlConfiguration struct {
	// fsAioMaxNr is the most asynchronous I/O requests (fs.aio-max-nr).
	// +kubebuilder:validation:Minimum:=65536
	// +kubebuilder:validation:Maximum:=6553500
	// +optional
	FsAioMaxNr *int32 `json:"fsAioMaxNr,omitempty"`
	// fsFileMax is the most open files of all processes (fs.file-max).
	// +kubebuilder:validation:Minimum:=8192
	// +kubebuilder:validation:Maximum:=12000500
	// +optional
	FsFileMax *int32 `json:"fsFileMax,omitempty"`
	// fsInotifyMaxUserWatches is the most inotify watches of a user (fs.inotify.max_user_watches).
	// +kubebuilder:validation:Minimum:=781250
	// +kubebuilder:validation:Maximum:=2097152
	// +optional
	FsInotifyMaxUserWatches *int32 `json:"fsInotifyMaxUserWatches,omitempty"`
	// fsNrOpen is the most open files of a process (fs.nr_open).
	// +kubebuilder:validation:Minimum:=8192
	// +kubebuilder:validation:Maximum:=20000500
	// +optional
	FsNrOpen *int32 `json:"fsNrOpen,omitempty"`
	// kernelThreadsMax is the most threads (kernel.threads-max).
	// +kubebuilder:validation:Minimum:=20
	// +kubebuilder:validation:Maximum:=513785
	// +optional
	KernelThreadsMax *int32 `json:"kernelThreadsMax,omitempty"`
	// netCoreNetdevMaxBacklog is the most packets that wait for the kernel (net.core.netdev_max_backlog).
	// +kubebuilder:validation:Minimum:=1000
	// +kubebuilder:validation:Maximum:=3240000
	// +optional
	NetCoreNetdevMaxBacklog *int32 `json:"netCoreNetdevMaxBacklog,omitempty"`
	// netCoreOptmemMax is the size of the ancillary buffer of a socket, in bytes (net.core.optmem_max).
	// +kubebuilder:validation:Minimum:=20480
	// +kubebuilder:validation:Maximum:=4194304
	// +optional
	NetCoreOptmemMax *int32 `json:"netCoreOptmemMax,omitempty"`
	// netCoreRmemDefault is the size of the receive buffer of a socket, in bytes (net.core.rmem_default).
	// +kubebuilder:validation:Minimum:=212992
	// +kubebuilder:validation:Maximum:=134217728
	// +optional
	NetCoreRmemDefault *int32 `json:"netCoreRmemDefault,omitempty"`
	// netCoreRmemMax is the largest receive buffer of a socket, in bytes (net.core.rmem_max).
	// +kubebuilder:validation:Minimum:=212992
	// +kubebuilder:validation:Maximum:=134217728
	// +optional
	NetCoreRmemMax *int32 `json:"netCoreRmemMax,omitempty"`
	// netCoreSomaxconn is the most connections that wait to be accepted on a socket (net.core.somaxconn).
	// +kubebuilder:validation:Minimum:=4096
	// +kubebuilder:validation:Maximum:=3240000
	// +optional
	NetCoreSomaxconn *int32 `json:"netCoreSomaxconn,omitempty"`
	// netCoreWmemDefault is the size of the send buffer of a socket, in bytes (net.core.wmem_default).
	// +kubebuilder:validation:Minimum:=212992
	// +kubebuilder:validation:Maximum:=134217728
	// +optional
	NetCoreWmemDefault *int32 `json:"netCoreWmemDefault,omitempty"`
	// netCoreWmemMax is the largest send buffer of a socket, in bytes (net.core.wmem_max).
	// +kubebuilder:validation:Minimum:=212992
	// +kubebuilder:validation:Maximum:=134217728
	// +optional
	NetCoreWmemMax *int32 `json:"netCoreWmemMax,omitempty"`
	// netIPv4IPLocalPortRange holds the first and the last local port of outgoing connections, separated by a space (net.ipv4.ip_local_port_range).
	// +kubebuilder:validation:MaxLength:=11
	// +kubebuilder:validation:Pattern:=`^[0-9]{1,5} [0-9]{1,5}$`
	// +kubebuilder:validation:XValidation:message="netIPv4IPLocalPortRange must be 'first last' with first from 1024 to 60999, last from 32768 to 65535, and first not greater than last",rule="int(self.split(' ')[0]) >= 1024 && int(self.split(' ')[0]) <= 60999 && int(self.split(' ')[1]) >= 32768 && int(self.split(' ')[1]) <= 65535 && int(self.split(' ')[0]) <= int(self.split(' ')[1])"
	// +optional
	NetIPv4IPLocalPortRange string `json:"netIPv4IPLocalPortRange,omitempty"`
	// netIPv4NeighDefaultGcThresh1 is the number of entries below which the ARP cache is not cleaned (net.ipv4.neigh.default.gc_thresh1).
	// +kubebuilder:validation:Minimum:=128
	// +kubebuilder:validation:Maximum:=80000
	// +optional
	NetIPv4NeighDefaultGcThresh1 *int32 `json:"netIPv4NeighDefaultGcThresh1,omitempty"`
	// netIPv4NeighDefaultGcThresh2 is the soft limit of entries of the ARP cache (net.ipv4.neigh.default.gc_thresh2).
	// +kubebuilder:validation:Minimum:=512
	// +kubebuilder:validation:Maximum:=90000
	// +optional
	NetIPv4NeighDefaultGcThresh2 *int32 `json:"netIPv4NeighDefaultGcThresh2,omitempty"`
	// netIPv4NeighDefaultGcThresh3 is the hard limit of entries of the ARP cache (net.ipv4.neigh.default.gc_thresh3).
	// +kubebuilder:validation:Minimum:=1024
	// +kubebuilder:validation:Maximum:=100000
	// +optional
	NetIPv4NeighDefaultGcThresh3 *int32 `json:"netIPv4NeighDefaultGcThresh3,omitempty"`
	// netIPv4TCPFinTimeout is how long a closed connection is kept, in seconds (net.ipv4.tcp_fin_timeout).
	// +kubebuilder:validation:Minimum:=5
	// +kubebuilder:validation:Maximum:=120
	// +optional
	NetIPv4TCPFinTimeout *int32 `json:"netIPv4TCPFinTimeout,omitempty"`
	// netIPv4TCPKeepaliveIntvl is the time between keepalive probes, in seconds (net.ipv4.tcp_keepalive_intvl).
	// +kubebuilder:validation:Minimum:=10
	// +kubebuilder:validation:Maximum:=90
	// +optional
	NetIPv4TCPKeepaliveIntvl *int32 `json:"netIPv4TCPKeepaliveIntvl,omitempty"`
	// netIPv4TCPKeepaliveProbes is the number of keepalive probes without an answer after which a connection is closed (net.ipv4.tcp_keepalive_probes).
	// +kubebuilder:validation:Minimum:=1
	// +kubebuilder:validation:Maximum:=15
	// +optional
	NetIPv4TCPKeepaliveProbes *int32 `json:"netIPv4TCPKeepaliveProbes,omitempty"`
	// netIPv4TCPKeepaliveTime is the time until the first keepalive probe, in seconds (net.ipv4.tcp_keepalive_time).
	// +kubebuilder:validation:Minimum:=30
	// +kubebuilder:validation:Maximum:=432000
	// +optional
	NetIPv4TCPKeepaliveTime *int32 `json:"netIPv4TCPKeepaliveTime,omitempty"`
	// netIPv4TCPMaxSynBacklog is the most connections that are not yet acknowledged (net.ipv4.tcp_max_syn_backlog).
	// +kubebuilder:validation:Minimum:=128
	// +kubebuilder:validation:Maximum:=3240000
	// +optional
	NetIPv4TCPMaxSynBacklog *int32 `json:"netIPv4TCPMaxSynBacklog,omitempty"`
	// netIPv4TCPMaxTwBuckets is the most closed connections that are kept (net.ipv4.tcp_max_tw_buckets).
	// +kubebuilder:validation:Minimum:=8000
	// +kubebuilder:validation:Maximum:=1440000
	// +optional
	NetIPv4TCPMaxTwBuckets *int32 `json:"netIPv4TCPMaxTwBuckets,omitempty"`
	// netIPv4TCPTwReuse reuses the ports of closed connections (net.ipv4.tcp_tw_reuse).
	// +optional
	NetIPv4TCPTwReuse *bool `json:"netIPv4TCPTwReuse,omitempty"`
	// netNetfilterNfConntrackBuckets is the size of the hash table of tracked connections (net.netfilter.nf_conntrack_buckets).
	// +kubebuilder:validation:Minimum:=65536
	// +kubebuilder:validation:Maximum:=524288
	// +optional
	NetNetfilterNfConntrackBuckets *int32 `json:"netNetfilterNfConntrackBuckets,omitempty"`
	// netNetfilterNfConntrackMax is the most tracked connections (net.netfilter.nf_conntrack_max).
	// +kubebuilder:validation:Minimum:=131072
	// +kubebuilder:validation:Maximum:=2097152
	// +optional
	NetNetfilterNfConntrackMax *int32 `json:"netNetfilterNfConntrackMax,omitempty"`
	// vmMaxMapCount is the most memory mappings of a process (vm.max_map_count).
	// +kubebuilder:validation:Minimum:=65530
	// +kubebuilder:validation:Maximum:=262144
	// +optional
	VMMaxMapCount *int32 `json:"vmMaxMapCount,omitempty"`
	// vmSwappiness says how readily memory is swapped (vm.swappiness).
	// +kubebuilder:validation:Minimum:=0
	// +kubebuilder:validation:Maximum:=100
	// +optional
	VMSwappiness *int32 `json:"vmSwappiness,omitempty"`
	// vmVfsCachePressure says how readily the caches of directories and inodes are dropped, in percent (vm.vfs_cache_pressure).
	// +kubebuilder:validation:Minimum:=0
	// +kubebuilder:validation:Maximum:=100
	// +optional
	VMVfsCachePressure *int32 `json:"vmVfsCachePressure,omitempty"`
}
