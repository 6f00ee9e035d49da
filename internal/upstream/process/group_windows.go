//go:build windows

package process

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Group is a process and those that it starts: a job object, which ends
// them when it is closed, and so also when this process ends.
type Group struct{ job windows.Handle }

// Start starts the process in a job of its own, and keeps a console's signals from
// it.
func (g *Group) Start(cmd *exec.Cmd) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("create a job: %w", err)
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return fmt.Errorf("limit a job: %w", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, HideWindow: true}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	if err := assign(job, cmd); err != nil {
		err = errors.Join(err, cmd.Process.Kill(), windows.CloseHandle(job))
		_ = cmd.Wait() // it was killed
		return err
	}
	g.job = job
	return nil
}

// assign puts the process into the job, and so all that it starts from now on.
func assign(job windows.Handle, cmd *exec.Cmd) error {
	pid := uint32(cmd.Process.Pid)
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return fmt.Errorf("open the process: %w", err)
	}
	if err := errors.Join(windows.AssignProcessToJobObject(job, process), windows.CloseHandle(process)); err != nil {
		return fmt.Errorf("assign the process to a job: %w", err)
	}
	return nil
}

// Terminate does nothing: a process without a window cannot be asked to end, but by
// closing its stdin.
func (g *Group) Terminate() {}

// Kill ends all of them.
func (g *Group) Kill() { _ = windows.TerminateJobObject(g.job, 1) } // it may have ended already

// Leave waits until none of them is left, and reports whether that was in time.
func (g *Group) Leave(patience time.Duration) bool {
	const interval = 5 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for end := time.Now().Add(patience); g.active(); <-ticker.C {
		if !time.Now().Before(end) {
			return false
		}
	}
	return true
}

// active reports whether a process of the job is left.
func (g *Group) active() bool {
	var info struct { // JOBOBJECT_BASIC_ACCOUNTING_INFORMATION
		totalUserTime, totalKernelTime, thisPeriodUserTime, thisPeriodKernelTime int64
		totalPageFaultCount, totalProcesses, activeProcesses, terminated         uint32
	}
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.activeProcesses > 0
}

// Close ends what is left and frees the job.
func (g *Group) Close() { _ = windows.CloseHandle(g.job) }
