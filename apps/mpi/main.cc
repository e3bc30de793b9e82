// SPDX-License-Identifier: Apache-2.0
// msprobe-mpi: multi_acc_check on the devices of several machines. Rank 0 holds the queue, the
// files and engines of its own; every other rank runs the engines of its node for it.
#include <cstdlib>
#include <thread>
#include <vector>

#include <mpi.h>

#include "cluster/engine_host.h"
#include "cluster/remote_engines.h"
#include "command_line.h"
#include "common_options.h"
#include "core/log.h"
#include "interrupt.h"
#include "mpi_transport.h"

namespace msprobe::app {
namespace {

ExitStatus check_with(engines::Hosts* hosts, std::vector<std::string> arguments) {
  const std::vector<Command> commands = {
      {CommandGroup::kStartHere, "multi_acc_check",
       "Check a dump with many engines, on the devices of several machines.",
       "  mpirun -n 4 msprobe-mpi multi_acc_check -api_info dump.json -n 8 -d 0 1\n"
       "  srun -N 4 --ntasks-per-node=1 \\\n"
       "      msprobe-mpi multi_acc_check -api_info dump.json -o out\n",
       [hosts](cli::Parser& command) { return declare_multi_acc_check_on(command, hosts); }}};
  return run_command_line(
      {"msprobe-mpi", "runs a check on the machines of an MPI job, -n engines on each", commands},
      std::move(arguments));
}

// MPI belongs to this thread, the check to another.
ExitStatus lead(MpiTransport& transport, std::size_t ranks, std::vector<std::string> arguments) {
  const auto engines = cluster::RemoteEngines::create(transport, ranks);
  if (!engines) return refuse(engines.error());
  int status = kCannot;
  std::thread check([&] {
    status = run_main([&] { return check_with(engines->get(), std::move(arguments)); });
    (*engines)->stop();
  });
  (*engines)->carry();
  check.join();
  return static_cast<ExitStatus>(status);
}

// Whether the run was asked to stop: by Ctrl-C, or by mpirun because another rank is lost.
bool interrupted(const Interrupt& interrupt) {
  pollfd polled{interrupt.descriptor(), POLLIN, 0};
  return ::poll(&polled, 1, 0) > 0;
}

int run(int argc, char** argv) {
  // Before MPI starts threads: they inherit that signals are taken from the descriptor.
  const Interrupt interrupt;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MpiTransport transport;
  ExitStatus status = kPassed;
  if (rank == 0) {
    status = lead(transport, static_cast<std::size_t>(ranks), {argv + 1, argv + argc});
  } else {
    cluster::serve_engines(transport, interrupt.descriptor());
  }
  // Ranks that are lost would never take part in MPI's own end.
  if (interrupted(interrupt)) std::_Exit(status);
  transport.finish();
  MPI_Finalize();
  return status;
}

}  // namespace
}  // namespace msprobe::app

int main(int argc, char** argv) { return msprobe::app::run(argc, argv); }
