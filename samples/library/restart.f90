! A checkpoint in Fortran, without MPI: the interior of a field with a halo, and the particles of a struct of arrays that
! has room for more, in one file. One type names all of it; the program packs it, writes it, reads it back into a
! simulation with another halo and more room, and verifies every value.
program restart
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use packwright
  implicit none

  integer, parameter :: nx = 56, ny = 40, nz = 24, particles = 20000

  type :: simulation
    integer :: halo
    real(c_double), allocatable :: field(:, :, :)
    real(c_double), allocatable :: x(:), y(:), mass(:)
  end type simulation

  type(simulation), target :: saved, restored
  character(len=200) :: path
  logical :: good

  path = 'restart.data'
  if (command_argument_count() > 0) call get_command_argument(1, path)
  call allocate_simulation(saved, 1, particles + 300)
  call allocate_simulation(restored, 2, 2*particles)
  call fill(saved)
  call write_checkpoint(trim(path), saved)
  call read_checkpoint(trim(path), restored)
  good = is_restored(restored)
  print '(2a)', 'restart: ', trim(merge('verified', 'WRONG   ', good))
  if (.not. good) stop 1, quiet=.true.

contains

  ! ---- the simulation ----

  subroutine allocate_simulation(s, halo, room)
    type(simulation), intent(out) :: s
    integer, intent(in) :: halo, room

    s%halo = halo
    allocate (s%field(1 - halo:nx + halo, 1 - halo:ny + halo, 1 - halo:nz + halo), source=0.0_c_double)
    allocate (s%x(room), s%y(room), s%mass(room), source=0.0_c_double)
  end subroutine allocate_simulation

  pure real(c_double) function field_value(i, j, k)
    integer, intent(in) :: i, j, k

    field_value = i + 1e-3_c_double*j + 1e-6_c_double*k
  end function field_value

  ! Values of a checkpoint, and -1 in the places that must not get into one.
  subroutine fill(s)
    type(simulation), intent(inout) :: s
    integer :: i, j, k

    s%field = -1
    do k = 1, nz
      do j = 1, ny
        do i = 1, nx
          s%field(i, j, k) = field_value(i, j, k)
        end do
      end do
    end do
    s%x = -1
    s%y = -1
    s%mass = -1
    s%x(:particles) = [(1e-4_c_double*i, i=1, particles)]
    s%y(:particles) = [(2e-4_c_double*i, i=1, particles)]
    s%mass(:particles) = [(3e-4_c_double*i, i=1, particles)]
  end subroutine fill

  logical function is_restored(s)
    type(simulation), intent(in) :: s
    type(simulation) :: expected
    integer :: i, j, k

    call allocate_simulation(expected, s%halo, size(s%x))
    call fill(expected)
    do k = 1 - s%halo, nz + s%halo
      do j = 1 - s%halo, ny + s%halo
        do i = 1 - s%halo, nx + s%halo
          if (min(i, j, k) < 1 .or. i > nx .or. j > ny .or. k > nz) expected%field(i, j, k) = 0
        end do
      end do
    end do
    where (expected%x < 0)
      expected%x = 0
      expected%y = 0
      expected%mass = 0
    end where
    is_restored = all(s%field == expected%field) .and. all(s%x == expected%x) .and. all(s%y == expected%y) .and. &
      all(s%mass == expected%mass)
  end function is_restored

  ! ---- its checkpoint ----

  ! What a checkpoint of `s` holds, as seen from the first point of the field, halo included.
  function layout(s) result(whole)
    type(simulation), target, intent(in) :: s
    type(packwright_type) :: number, interior, whole
    integer(c_int64_t) :: origin

    call check(packwright_bytes(8, 8, number))
    call check(packwright_subarray(shape(s%field), [nx, ny, nz], [s%halo, s%halo, s%halo], PACKWRIGHT_ORDER_FORTRAN, &
      number, interior))
    origin = packwright_address(s%field)
    call check(packwright_struct([1_c_int64_t, spread(int(particles, c_int64_t), 1, 3)], &
      [0_c_int64_t, packwright_address(s%x) - origin, packwright_address(s%y) - origin, &
      packwright_address(s%mass) - origin], [interior, number, number, number], whole))
    call packwright_type_free(interior)
    call packwright_type_free(number)
  end function layout

  subroutine write_checkpoint(file, s)
    character(*), intent(in) :: file
    type(simulation), target, intent(in) :: s
    type(packwright_type) :: type
    integer(1), allocatable :: image(:)
    integer :: unit

    type = layout(s)
    allocate (image(packwright_size(type)))
    call check(packwright_pack(type, s%field, 1, image))
    call packwright_type_free(type)
    open (newunit=unit, file=file, access='stream', form='unformatted', status='replace', action='write')
    write (unit) image
    close (unit)
  end subroutine write_checkpoint

  subroutine read_checkpoint(file, s)
    character(*), intent(in) :: file
    type(simulation), target, intent(inout) :: s
    type(packwright_type) :: type
    integer(1), allocatable :: image(:)
    integer :: unit

    type = layout(s)
    allocate (image(packwright_size(type)))
    open (newunit=unit, file=file, access='stream', form='unformatted', status='old', action='read')
    read (unit) image
    close (unit, status='delete')
    call check(packwright_unpack(type, s%field, 1, image))
    call packwright_type_free(type)
  end subroutine read_checkpoint

  ! Ends the program with the library's reason when a call failed.
  subroutine check(status)
    integer, intent(in) :: status

    if (status == PACKWRIGHT_OK) return
    print '(4a)', 'restart: ', packwright_status_text(status), ': ', packwright_last_error()
    stop 1, quiet=.true.
  end subroutine check

end program restart
