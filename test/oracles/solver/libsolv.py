# Prints name and version of every package of a primary.xml that libsolv cannot install, each asked alone. As installcheck(1)
# does, which Debian builds for deb only.
import sys
import solv

pool = solv.Pool()
pool.setdisttype(solv.Pool.DISTTYPE_RPM)
pool.setarch('x86_64')
repo = pool.add_repo('repository')
repo.add_rpmmd(solv.xfopen(sys.argv[1]), None)
pool.createwhatprovides()
for package in repo.solvables:
    solver = pool.Solver()
    solver.set_flag(solv.Solver.SOLVER_FLAG_IGNORE_RECOMMENDED, 1)
    job = pool.Job(solv.Job.SOLVER_INSTALL | solv.Job.SOLVER_SOLVABLE, package.id)
    if solver.solve([job]):
        print(package.name, package.evr)
